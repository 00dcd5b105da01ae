// [problem], [[cases]], [derived] and [space]: names, parameters with their values, and the texts of constraints.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"
#include "system/files.hpp"

namespace xtune::spec {

namespace {

Bindings read_case(const Reader& reader, const TomlNode& node, const Bindings& problem) {
  std::vector<std::string> names;
  for (const auto& [name, value] : problem) names.push_back(name);
  Bindings bindings = problem;
  for (const auto& [name, entry] : reader.table(node, "[[cases]]").entries) {
    const auto own = problem.find(name);
    if (own == problem.end())
      reader.fail(entry.key_at, "unknown problem name '" + name + "' in [[cases]]" + base::did_you_mean(name, names) +
                                    "; [problem] gives every name and its default");
    bindings[name] = value_like(reader, entry, "case: " + name, own->second, "[problem]");
  }
  return bindings;
}

constexpr std::size_t max_text = 1 << 16;  // of the rows as an expression: what an expression may have

/// The value in the expression language.
std::string literal(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  if (!text) return to_text(value);
  std::string quoted = "'";
  for (const char c : *text) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return quoted + "'";
}

/// A further value of a parameter, of the type of those before it.
Value next_value(const Reader& reader, const TomlNode& node, const std::string& name,
                 const std::vector<Value>& values) {
  Value value = reader.scalar(node, name);
  if (!values.empty() && value.index() != values.front().index())
    reader.fail(node.at, name + " mixes " + space::type_name(values.front()) + " and " + space::type_name(value) +
                             " values: write all of them as one type");
  return value;
}

/// "A == 1 and B == 2", for a row of a group, whose values are added to the parameters.
std::string read_row(const Reader& reader, const TomlNode& row, const std::string& title,
                     std::vector<space::Parameter>& parameters) {
  if (!row.is_array() || row.items.size() != parameters.size())
    reader.fail(row.at, title + ": expected a list of " + std::to_string(parameters.size()) +
                            " values, one for each name, got " +
                            (row.is_array() ? "one of " + std::to_string(row.items.size()) : kind_name(row.kind)));
  std::string text;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto& [name, values, compile_time] = parameters[i];
    const Value value = next_value(reader, row.items[i], name, values);
    text += (text.empty() ? "" : " and ") + name + " == " + literal(value);
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return text;
}

/// Parameters whose values belong together. Adds the constraint that ties them, at the place of the key: "(A == 1 and
/// B == 2) or (A == 3 and B == 4)".
void read_param_group(Reader& reader, const TomlNode& node, std::vector<space::Parameter>& parameters) {
  const std::string title = "\"" + joined(names_of(parameters)) + "\"";
  const TomlNode* rows = &node;
  if (node.is_table()) {
    reader.check_keys(node, "the values of " + title, {"values", "compile_time"});
    rows = node.find("values");
    if (rows == nullptr) reader.fail(node.at, title + " has no values");
    if (const TomlNode* compile_time = node.find("compile_time"))
      for (space::Parameter& parameter : parameters)
        parameter.compile_time = reader.boolean(*compile_time, title + ".compile_time");
  }
  if (reader.array(*rows, title).items.empty()) reader.fail(rows->at, title + " has an empty list of rows");
  std::set<std::string> seen;
  std::string constraint;
  for (const TomlNode& row : rows->items) {
    const std::string text = read_row(reader, row, title, parameters);
    if (!seen.insert(text).second) reader.fail(row.at, title + " has this row twice");
    constraint += (constraint.empty() ? "(" : " or (") + text + ")";
    if (constraint.size() > max_text)
      reader.fail(row.at, title + " has too many rows: up to this one they take 64 KiB as an expression. " +
                              "List the configurations with [space] configs instead");
  }
  reader.spec.constraints.push_back({constraint, reader.document.at(node.key_at)});
}

constexpr std::size_t max_values = 1'000'000;
constexpr std::uint64_t largest_configs = std::uint64_t{1} << 30;

std::vector<Value> listed_values(const Reader& reader, const TomlNode& node, const std::string& name) {
  if (node.items.empty()) reader.fail(node.at, name + " has an empty list of values: give at least one");
  if (node.items.size() > max_values) reader.fail(node.at, name + " has more than 1000000 values");
  std::vector<Value> values;
  std::unordered_set<Value> seen;
  for (const TomlNode& item : node.items) {
    if (item.is_array())
      reader.fail(item.at, name + " has a list as a value: name the parts of the lists, as in \"" + name + "_0, " +
                               name + "_1\" = [[128, 64], [64, 64]]");
    Value value = next_value(reader, item, name, values);
    if (!seen.insert(value).second)
      reader.fail(item.at, name + " has the value " + space::shown_text(value) + " twice");
    values.push_back(std::move(value));
  }
  return values;
}

std::vector<Value> powers_of_two(const Reader& reader, const TomlNode& node, const std::string& name) {
  const std::int64_t min = reader.integer(*node.find("min"), name + ".min", 1);
  const std::int64_t max = reader.integer(*node.find("max"), name + ".max", 1);
  if ((min & (min - 1)) != 0)
    reader.fail(node.find("min")->at,
                name + ".min = " + std::to_string(min) + " is not a power of two, which scale = \"pow2\" needs");
  std::vector<Value> values;
  for (std::uint64_t value = static_cast<std::uint64_t>(min); value <= static_cast<std::uint64_t>(max); value *= 2)
    values.emplace_back(static_cast<std::int64_t>(value));
  return values;
}

std::vector<Value> integer_steps(const Reader& reader, const TomlNode& node, const std::string& name) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min() / 2;
  const std::int64_t min = reader.integer(*node.find("min"), name + ".min", lowest, -lowest);
  const std::int64_t max = reader.integer(*node.find("max"), name + ".max", lowest, -lowest);
  const TomlNode* const step_node = node.find("step");
  const std::int64_t step = step_node == nullptr ? 1 : reader.integer(*step_node, name + ".step", 1, -lowest);
  if (max >= min && static_cast<std::uint64_t>(max - min) / static_cast<std::uint64_t>(step) >= max_values)
    reader.fail(node.at, name + " has more than 1000000 values");
  std::vector<Value> values;
  for (std::int64_t value = min; value <= max; value += step) values.emplace_back(value);
  return values;
}

/// Decimal places of the shortest text of a number.
int places_of(double number) {
  char buffer[40];
  const std::string text(buffer, std::to_chars(buffer, std::end(buffer), number, std::chars_format::scientific).ptr);
  const std::size_t exponent = text.find('e'), point = std::min(text.find('.'), exponent - 1);
  return static_cast<int>(exponent - point - 1) - std::stoi(text.substr(exponent + 1));
}

std::vector<Value> float_steps(const Reader& reader, const TomlNode& node, const std::string& name) {
  constexpr double lowest = std::numeric_limits<double>::lowest();
  if (node.find("step") == nullptr) reader.fail(node.at, name + " is a range of floats: it needs a step");
  const double min = reader.number(*node.find("min"), name + ".min", lowest);
  const double max = reader.number(*node.find("max"), name + ".max", lowest);
  const double step = reader.number(*node.find("step"), name + ".step", std::numeric_limits<double>::min());
  if (min > max) return {};
  const double count = std::floor((max - min) / step * (1 + 1e-12)) + 1;  // 0.3 is three steps of 0.1, despite rounding
  if (!(count <= static_cast<double>(max_values))) reader.fail(node.at, name + " has more than 1000000 values");
  // The values are those that people write: 0.3, not 3 * 0.1, which is 0.30000000000000004.
  const int places = std::max({places_of(min), places_of(step), 0});
  std::vector<Value> values;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const std::string text = fmt::format("{:.{}f}", min + i * step, places);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    values.emplace_back(value + 0.0);  // no -0.0
    if (i > 0 && values[static_cast<std::size_t>(i)] == values[static_cast<std::size_t>(i) - 1])
      reader.fail(node.at, name + ".step is too small for floats of this size");
  }
  return values;
}

std::vector<Value> range_values(const Reader& reader, const TomlNode& node, const std::string& name) {
  reader.check_keys(node, "the range of " + name, {"min", "max", "step", "scale", "compile_time"});
  bool floats = false;
  for (const char* key : {"min", "max", "step"}) {
    const TomlNode* const bound = node.find(key);
    if (bound == nullptr && key != std::string_view("step"))
      reader.fail(node.at,
                  name + " has no " + key + ": a table is { min, max } with step or scale, or { values = [..] }");
    floats = floats || (bound != nullptr && bound->kind == TomlNode::Kind::floating);
  }
  const TomlNode *const scale = node.find("scale"), *const step = node.find("step");
  const bool pow2 = scale != nullptr && reader.choice(*scale, name + ".scale", {"linear", "pow2"}) == 1;
  if (pow2 && step != nullptr) reader.fail(step->key_at, name + ": step and scale = \"pow2\" exclude each other");
  std::vector<Value> values = (pow2 ? powers_of_two : floats ? float_steps : integer_steps)(reader, node, name);
  if (values.empty()) reader.fail(node.at, name + " is an empty range: min is greater than max");
  return values;
}

/// Parameters are macros, whose value is one line: text after a line end would become another line of the source.
void refuse_line_ends(const Reader& reader, const TomlNode& node, const space::Parameter& parameter) {
  const TomlNode* const kernel = reader.document.root().find("kernel");
  const bool compiled = kernel && kernel->is_table() && (kernel->find("source") || kernel->find("code"));
  if (!compiled || !parameter.compile_time) return;
  for (const Value& value : parameter.values)
    if (const auto* text = std::get_if<std::string>(&value); text && text->find_first_of("\n\r") != text->npos)
      reader.fail(node.at, "the value '" + base::one_line(*text) + "' of " + parameter.name +
                               " holds a line end, and a parameter is a macro, whose value must be one line; with "
                               "{ values = [...], compile_time = false } it is none");
}

void read_parameter(const Reader& reader, const TomlNode& node, space::Parameter& parameter) {
  const std::string& name = parameter.name;
  if (!node.is_array() && !node.is_table()) reader.wrong_type(node, name, "an array of values or a table { min, max }");
  if (const TomlNode* compile_time = node.find("compile_time"))
    parameter.compile_time = reader.boolean(*compile_time, name + ".compile_time");
  const TomlNode* const values = node.is_array() ? &node : node.find("values");
  if (values == nullptr) return static_cast<void>(parameter.values = range_values(reader, node, name));
  if (node.is_table()) reader.check_keys(node, "the values of " + name, {"values", "compile_time"});
  parameter.values = listed_values(reader, reader.array(*values, name + ".values"), name);
}

/// One entry of [space.params]: a parameter, or several whose values belong together.
void read_params(Reader& reader, const TomlNode& node, const std::string& key) {
  const std::vector<std::string> names = parameter_names(key);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (name.empty() && names.size() > 1)
      reader.fail(node.key_at, "a name is missing in the key '" + base::one_line(key) + "'");
    reader.check_identifier(node.key_at, name, "parameter");
    if (reader.spec.cases.front().contains(name))
      reader.fail(node.key_at, "'" + name + "' is a parameter and a name of [problem]: rename one");
    if (reader.spec.derived && reader.spec.derived->contains(name))
      reader.fail(node.key_at, "'" + name + "' is a parameter and a name of [derived]: rename one");
    if (base::find_named(reader.spec.parameters, name) ||
        std::find(names.begin() + static_cast<std::ptrdiff_t>(i) + 1, names.end(), name) != names.end())
      reader.fail(node.key_at, "the parameter '" + name + "' is there twice");
  }
  std::vector<space::Parameter> read;
  for (const std::string& name : names) read.push_back({name, {}, true});
  names.size() == 1 ? read_parameter(reader, node, read.front()) : read_param_group(reader, node, read);
  for (const space::Parameter& parameter : read) {
    refuse_line_ends(reader, node, parameter);
    reader.spec.parameters.push_back(parameter);
    reader.spec.parameters_at.push_back(reader.document.at(node.key_at));
  }
}

void read_configs(Reader& reader, const TomlNode& space, const TomlNode& configs) {
  if (space.find("constraints") != nullptr)
    reader.fail(configs.key_at, "configs and constraints exclude each other: the list holds the valid configurations");
  if (reader.spec.parameters.empty())
    reader.fail(configs.key_at, "configs lists values of [space.params], which is empty");
  const std::filesystem::path path = reader.existing_file(configs, "space.configs");
  reader.spec.configs_at = reader.document.at(configs.at);
  if (reader.check_files)
    reader.spec.configs =
        parse_configs(system::read_file(path, largest_configs), path.string(), reader.spec.parameters);
}

}  // namespace

std::vector<std::string> parameter_names(const std::string& key) {
  std::vector<std::string> names = base::split(key, ',');
  for (std::string& name : names) name = std::string(base::trimmed(name));
  return names;
}

// An integer where the spec has a float means that float.
Value value_like(const Reader& reader, const TomlNode& node, const std::string& name, const Value& own,
                 const std::string& where) {
  Value value = reader.scalar(node, name);
  if (std::holds_alternative<double>(own) && std::holds_alternative<std::int64_t>(value))
    value = static_cast<double>(std::get<std::int64_t>(value));
  if (value.index() != own.index())
    reader.fail(node.at, name + " is " + space::type_name(own) + " in " + where + ", got " + space::type_name(value));
  return value;
}

void read_problem(Reader& reader, const SuiteEntry* suite) {
  Bindings problem;
  if (const TomlNode* node = reader.document.root().find("problem")) {
    for (const auto& [name, entry] : reader.table(*node, "[problem]").entries) {
      reader.check_identifier(entry.key_at, name, "problem name");
      problem[name] = reader.scalar(entry, name);
    }
  }
  const TomlNode* cases = suite ? suite->table().find("cases") : nullptr;
  // Errors point into the file that contains the cases.
  std::optional<Reader> of_suite;
  if (cases != nullptr) of_suite.emplace(Reader{*suite->document, reader.spec, reader.base_dir});
  const Reader& from = of_suite ? *of_suite : reader;
  if (cases == nullptr) cases = reader.document.root().find("cases");
  if (cases == nullptr) {
    reader.spec.cases.push_back(std::move(problem));
    return;
  }
  if (!cases->is_array()) from.wrong_type(*cases, "cases", "an array of tables, [[cases]]");
  if (cases->items.empty()) from.fail(cases->at, "cases is empty: give at least one case, or none of the key");
  std::map<Bindings, std::size_t> numbers;
  for (const TomlNode& item : cases->items) {
    const auto [same, is_new] = numbers.emplace(read_case(from, item, problem), numbers.size() + 1);
    if (!is_new) from.fail(item.at, "duplicate case: the same problem as case " + std::to_string(same->second));
    reader.spec.cases.push_back(same->first);
  }
}

// Each may use those before it, because their expressions are known by then.
void read_derived(Reader& reader) {
  const TomlNode* const section = reader.document.root().find("derived");
  if (section == nullptr) return;
  space::Expression::Derived derived;
  for (const auto& [name, node] : reader.table(*section, "[derived]").entries) {
    reader.check_identifier(node.key_at, name, "derived name");
    if (reader.spec.cases.front().contains(name))
      reader.fail(node.key_at, "'" + name + "' is also a name of [problem]: rename one");
    const Text text = reader.expression(node, "derived." + name);
    derived.emplace(name, compiled(reader, [&] { return CompiledText::expression(text); }).parts()[0].expression[0]);
    reader.spec.derived = std::make_shared<const space::Expression::Derived>(derived);
  }
}

void read_space(Reader& reader) {
  const TomlNode* const space = reader.document.root().find("space");
  if (space == nullptr) return;
  reader.check_keys(reader.table(*space, "[space]"), "[space]", {"constraints", "configs", "params"});
  if (const TomlNode* params = space->find("params"))
    for (const auto& [key, node] : reader.table(*params, "[space.params]").entries) read_params(reader, node, key);
  if (const TomlNode* constraints = space->find("constraints")) {
    for (const TomlNode& item : reader.array(*constraints, "constraints").items) {
      if (item.kind != TomlNode::Kind::text && item.kind != TomlNode::Kind::boolean)
        reader.wrong_type(item, "constraint", "a string");
      reader.spec.constraints.push_back(reader.expression(item, "constraint"));
    }
  }
  if (const TomlNode* configs = space->find("configs")) read_configs(reader, *space, *configs);
}

Bindings read_configuration(const Reader& reader, const TomlNode& node, const std::string& what,
                            const std::string& hint) {
  if (reader.listed.empty())
    reader.fail(node.at, what + ": the spec has no parameters in [space.params], so the kernel has one configuration");
  Bindings config;
  for (const space::Parameter& parameter : reader.listed) config[parameter.name] = parameter.values.front();
  for (const auto& [name, entry] : reader.table(node, what).entries) {
    reader.require_among(entry.key_at, name, names_of(reader.listed), what + ": '" + name + "' is not a parameter");
    const std::vector<Value>& values = base::find_named(reader.listed, name)->values;
    const Value value = value_like(reader, entry, what + ": " + name, values.front(), "[space.params]");
    if (std::find(values.begin(), values.end(), value) == values.end())
      reader.fail(entry.at, what + ": " + name + " = " + space::shown_text(value) + " is not among its values, " +
                                values_text(values) +
                                (reader.spec.backend.empty() ? "" : " on " + reader.spec.backend + hint));
    config[name] = value;
  }
  return config;
}

void restrict_configs(Reader& reader) {
  if (!reader.spec.configs) return;
  const std::vector<space::Parameter>& listed = reader.listed;
  const std::vector<space::Parameter>& now = reader.spec.parameters;
  std::vector<std::size_t> pinned;
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i].values != listed[i].values) pinned.push_back(i);
  if (pinned.empty()) return;
  std::erase_if(*reader.spec.configs, [&](std::vector<std::uint32_t>& row) {
    for (const std::size_t i : pinned) {
      if (listed[i].values[row[i]] != now[i].values.front()) return true;
      row[i] = 0;
    }
    return false;
  });
}

}  // namespace xtune::spec

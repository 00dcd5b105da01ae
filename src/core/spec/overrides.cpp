// What changes a spec: [on.<backend>], -D, --config, --filter and --partition, and suites.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/space/expression.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/suite.hpp"
#include "core/spec/template_text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

namespace {

/// The changes of an overlay, for one note to the user.
struct Changes {
  std::vector<std::string> sizes;       ///< "N = 65536"
  std::vector<std::string> parameters;  ///< names
  bool cases = false;
};

/// "on the CPU: N = 65536; other values of BLOCK, UNROLL (gemm.toml [on.host])"; empty without changes.
std::string note_of(const Changes& changes, const std::string& backend, const std::string& file) {
  std::vector<std::string> parts;
  if (changes.cases) parts.emplace_back("other cases");
  if (!changes.sizes.empty()) parts.push_back(joined(changes.sizes));
  const std::size_t parameters = changes.parameters.size();
  if (parameters > 0)
    parts.push_back("other values of " +
                    (parameters > 5 ? std::to_string(parameters) + " parameters" : joined(changes.parameters)));
  return parts.empty() ? ""
                       : fmt::format("on {}: {} ({} [on.{}])", backend == "host" ? "the CPU" : backend,
                                     fmt::join(parts, "; "), file, backend);
}

TomlNode& entry(TomlNode& table, const std::string& key, const TomlNode& like) {
  if (TomlNode* const found = table.find(key)) return *found;
  TomlNode empty;
  empty.at = like.at;
  empty.key_at = like.key_at;
  table.entries.push_back({key, std::move(empty)});
  return table.entries.back().node;
}

// An overlay cannot add names to the problem or the parameters, because the spec's expressions are checked with these
// names for every backend.
void merge_named(const Reader& reader, TomlNode& own, const TomlNode& overlay, const std::string& backend,
                 const std::string& where, const std::function<void(const std::string&, const TomlNode&)>& changed) {
  std::vector<std::string> names;
  for (const auto& [name, node] : own.entries) names.push_back(name);
  for (const auto& [name, node] : reader.table(overlay, "[on." + backend + where + "]").entries) {
    TomlNode* const found = own.find(name);
    if (found == nullptr)
      reader.fail(node.key_at, "[on." + backend + where + "] sets '" + name + "', which the spec itself does not have" +
                                   base::did_you_mean(name, names));
    if (render(node) != render(*found)) changed(name, node);
    *found = node;
  }
}

void merge_keys(TomlNode& own, const TomlNode& overlay) {
  for (const auto& [key, node] : overlay.entries) entry(own, key, node) = node;
}

void merge(const Reader& reader, TomlNode& root, const TomlNode& overlay, const std::string& backend,
           Changes& changes) {
  const std::string where = "[on." + backend + "]";
  reader.check_keys(reader.table(overlay, where), where,
                    {"problem", "cases", "space", "search", "measure", "validate", "kernel"});
  for (const auto& [section, node] : overlay.entries) {
    if (section == "cases") {
      changes.cases = true;
      entry(root, section, node) = node;
      continue;
    }
    reader.table(node, "[on." + backend + "." + section + "]");
    TomlNode& own = entry(root, section, node);
    reader.table(own, "[" + section + "]");
    if (section == "problem") {
      merge_named(reader, own, node, backend, ".problem", [&](const std::string& name, const TomlNode& value) {
        changes.sizes.push_back(name + " = " + render(value));
      });
    } else if (section == "space") {
      reader.check_keys(node, "[on." + backend + ".space]", {"constraints", "params"});
      if (const TomlNode* constraints = node.find("constraints"))
        entry(own, "constraints", *constraints) = *constraints;
      if (const TomlNode* params = node.find("params")) {
        TomlNode& own_params = entry(own, "params", *params);
        merge_named(reader, own_params, *params, backend, ".space.params",
                    [&](const std::string& name, const TomlNode&) { changes.parameters.push_back(name); });
      }
    } else if (section == "kernel") {
      reader.check_keys(node, "[on." + backend + ".kernel]", {"options", "controls"});
      merge_keys(own, node);
    } else {
      merge_keys(own, node);
    }
  }
}

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const char* const first = text.data() + (text.size() > 1 && text[0] == '+' ? 1 : 0);
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(first, last, number);
  return stop == last && error == std::errc() ? std::optional(number) : std::nullopt;
}

// The text as a value of the name's type. option: that of the command line, for errors.
Value parse_like(const std::string& name, const std::string& text, const Value& own, const std::string& option = "-D") {
  std::optional<Value> value;
  if (std::holds_alternative<std::string>(own)) value = text;
  if (std::holds_alternative<std::int64_t>(own))
    if (const auto number = parse_number<std::int64_t>(text)) value = *number;
  if (std::holds_alternative<double>(own))
    if (const auto number = parse_number<double>(text); number && std::isfinite(*number)) value = *number;
  if (std::holds_alternative<bool>(own)) {
    if (text == "true" || text == "1") value = true;
    if (text == "false" || text == "0") value = false;
  }
  if (!value)
    throw Error(ErrorKind::invalid_argument,
                option + " " + name + "=" + base::one_line(base::printable(text, 80)) + ": " + name + " is " +
                    (std::holds_alternative<std::int64_t>(own) ? "an " : "a ") + space::type_name(own) + ", and '" +
                    base::printable(text, 80) + "' is not");
  space::require_utf8(option + " " + name, *value);
  return *value;
}

bool set_problem(Spec& spec, const std::string& name, const std::string& text) {
  const auto own = spec.cases.front().find(name);
  if (own == spec.cases.front().end()) return false;
  const Value before = own->second;
  const Value value = parse_like(name, text, before);
  bool changed = false;
  for (Bindings& problem : spec.cases) {
    changed = changed || problem[name] != value;
    problem[name] = value;
  }
  std::vector<Bindings> distinct;  // cases that differed only in this name have become one
  for (Bindings& problem : spec.cases)
    if (std::find(distinct.begin(), distinct.end(), problem) == distinct.end()) distinct.push_back(std::move(problem));
  const bool several = spec.cases.size() > 1;
  spec.cases = std::move(distinct);
  if (changed && several) spec.notes.push_back("-D " + name + " = " + space::shown_text(value) + " in every case");
  return true;
}

bool pin_parameter(Spec& spec, const std::string& name, const std::string& text) {
  space::Parameter* const parameter = base::find_named(spec.parameters, name);
  if (!parameter) return false;
  const Value value = parse_like(name, text, parameter->values.front());
  const bool listed = std::find(parameter->values.begin(), parameter->values.end(), value) != parameter->values.end();
  if (!listed)
    spec.notes.push_back("-D " + name + " = " + space::shown_text(value) + " (not among " +
                         values_text(parameter->values) + ")");
  parameter->values = {value};
  return true;
}

/// False for an expression that does not parse: its error is reported where all expressions are checked.
bool is_a_number(const Text& text) {
  try {
    return space::is_always_a_number(parse_expression(text));
  } catch (const space::ExpressionError&) {
    return false;
  }
}

constexpr std::uint64_t largest_suite = 4 << 20;

void check_entry(Reader& reader, const TomlNode& entry, Suite& suite, const std::shared_ptr<Document>& document) {
  reader.check_keys(reader.table(entry, "[[suite]]"), "[[suite]]", {"spec", "cases", "defines", "search", "measure"});
  const TomlNode* const spec = entry.find("spec");
  if (spec == nullptr) {
    reader.document.throw_complaints();
    reader.fail(entry.at, "[[suite]] has no spec: name the file to tune, spec = \"gemm.toml\"");
  }
  const std::filesystem::path path = reader.existing_file(*spec, "spec");
  suite.entries.push_back({path, document, suite.entries.size()});
  if (const TomlNode* cases = entry.find("cases")) {
    for (const TomlNode& each : reader.array(*cases, "cases").items) reader.table(each, "cases");
    if (cases->items.empty())
      reader.fail(cases->at, "cases is empty: give at least one, or leave it out for those of the spec");
  }
  if (const TomlNode* defines = entry.find("defines"))
    for (const auto& [name, value] : reader.table(*defines, "defines").entries) reader.scalar(value, name);
  read_budget(reader, entry);
}

}  // namespace

void check_overlays(const Reader& reader) {
  const TomlNode* const overlays = reader.document.root().find("on");
  if (overlays == nullptr) return;
  std::vector<std::string> names;
  for (const device::BackendFacts& facts : device::all_backends())
    if (facts.source != device::SourceKind::program) names.emplace_back(facts.name);
  reader.check_keys(reader.table(*overlays, "[on]"), "[on]", names);
}

void apply_overlay(Reader& reader, const std::string& backend, const Defines& defines) {
  const TomlNode* const overlays = reader.document.root().find("on");
  const TomlNode* const found = overlays == nullptr || backend.empty() ? nullptr : overlays->find(backend);
  if (found == nullptr) return;
  const TomlNode overlay = *found;  // a copy, because merging may move the root's entries
  Changes changes;
  merge(reader, reader.document.root(), overlay, backend, changes);
  // -D overrides the overlay.
  for (const auto& [name, value] : defines) {
    std::erase(changes.parameters, name);
    std::erase_if(changes.sizes,
                  [&, start = name + " = "](const std::string& size) { return size.starts_with(start); });
  }
  if (const std::string note = note_of(changes, backend, reader.document.at({}).file); !note.empty())
    reader.spec.notes.push_back(note);
}

std::string values_text(const std::vector<Value>& values) {
  std::string text;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(values.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + space::shown_text(values[i]);
  return "[" + text + (values.size() > most ? ", ...]" : "]");
}

void apply_choices(Reader& reader, const Defines& choices) {
  for (const auto& [name, text] : choices) {
    space::Parameter* const parameter = base::find_named(reader.spec.parameters, name);
    if (!parameter) {
      const std::string hint = base::did_you_mean(name, names_of(reader.spec.parameters));
      throw Error(ErrorKind::invalid_argument, "--config " + base::printable(name, 80) + ": not a parameter of " +
                                                   reader.document.at({}).file + hint);
    }
    const Value value = parse_like(name, text, parameter->values.front(), "--config");
    if (std::find(parameter->values.begin(), parameter->values.end(), value) == parameter->values.end())
      throw Error(ErrorKind::invalid_argument,
                  "--config " + name + "=" + space::shown_text(value) + ": not among the values of " + name +
                      ", which are " + values_text(parameter->values) + "; -D pins a parameter to any value");
    parameter->values = {value};
  }
}

void apply_defines(Reader& reader, const Defines& defines) {
  Spec& spec = reader.spec;
  for (const auto& [name, text] : defines) {
    if (set_problem(spec, name, text) || pin_parameter(spec, name, text)) continue;
    std::vector<std::string> names;
    for (const auto& [known, value] : spec.cases.front()) names.push_back(known);
    for (const space::Parameter& parameter : spec.parameters) names.push_back(parameter.name);
    throw Error(ErrorKind::invalid_argument, "-D " + base::printable(name, 80) +
                                                 ": neither a problem size nor a parameter of " +
                                                 reader.document.at({}).file + base::did_you_mean(name, names));
  }
}

void add_filters(Reader& reader, const SpecOptions& options) {
  for (const std::string& filter : options.filters) {
    const Location at{"--filter '" + filter + "'"};
    const Text text{filter, at, false, reader.spec.derived};
    if (is_a_number(text))
      reader.document.fail(at, "this is a number, and a filter says what to keep: compare it, as in 'A + B <= 64'");
    reader.spec.constraints.push_back(text);
  }
  reader.spec.partition = options.partition;
}

std::optional<Suite> parse_suite(const std::string& text, const std::string& name,
                                 const std::filesystem::path& base_dir) {
  std::shared_ptr<Document> document;
  try {
    document = std::make_shared<Document>(text, name);
  } catch (const Error&) {
    return std::nullopt;
  }
  const TomlNode* const list = document->root().find("suite");
  if (list == nullptr) return std::nullopt;
  Suite suite;
  suite.path = name;
  Spec unused;
  Reader reader{*document, unused, std::filesystem::absolute(base_dir)};
  reader.check_keys(document->root(), "the suite", {"suite", "search", "measure"});
  if (reader.array(*list, "suite").items.empty()) reader.fail(list->at, "the suite is empty: it needs a [[suite]]");
  read_budget(reader, document->root());
  for (const TomlNode& entry : list->items) check_entry(reader, entry, suite, document);
  document->throw_complaints();
  return suite;
}

std::optional<Suite> load_suite(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > largest_suite)
    return std::nullopt;
  return parse_suite(system::read_if_there(path, largest_suite), path.string(),
                     std::filesystem::absolute(path).parent_path());
}

void apply_suite_defines(Reader& reader, const SuiteEntry& entry) {
  const TomlNode* const defines = entry.table().find("defines");
  if (defines == nullptr) return;
  for (const auto& [name, value] : defines->entries) {
    try {
      apply_defines(reader, {{name, to_text(value.value)}});
    } catch (const Error& error) {
      entry.document->fail(value.key_at, error.what());
    }
  }
}

void apply_suite_budget(Reader& reader, const SuiteEntry& entry) {
  Reader of_suite{*entry.document, reader.spec, reader.base_dir};
  read_budget(of_suite, entry.document->root());
  read_budget(of_suite, entry.table());
}

}  // namespace xtune::spec

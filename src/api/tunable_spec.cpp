// The spec file that is equivalent to a spec built in code, so that both have the same reader and messages.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/tunable_state.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "core/spec/document.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/spec.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune {

detail::TunableState::Section& detail::TunableState::section(const std::string& wanted) {
  Section* const found = base::find_named(sections, wanted);
  return found ? *found : sections.emplace_back(Section{wanted, {}});
}

void detail::TunableState::set(const std::string& wanted, const std::string& key, const std::string& value) {
  Entries& entries = section(wanted).entries;
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  if (found == entries.end())
    entries.emplace_back(key, value);
  else
    found->second = value;
}

void detail::TunableState::unset(const std::string& wanted, const std::string& key) {
  std::erase_if(section(wanted).entries, [&](const auto& entry) { return entry.first == key; });
}

std::vector<std::string>& detail::TunableState::list(const std::string& key) {
  section(key.substr(0, key.find('.')));
  const auto found = std::find_if(lists.begin(), lists.end(), [&](const auto& entry) { return entry.first == key; });
  return found == lists.end() ? lists.emplace_back(key, std::vector<std::string>()).second : found->second;
}

std::filesystem::path detail::TunableState::keep_source(const std::string& source_text, const std::string& stem) {
  const auto folder = std::make_shared<const system::TemporaryDirectory>();
  const std::filesystem::path path = folder->path() / (stem + ".cu");
  system::write_file_atomically(path, source_text);
  sources.push_back(folder);
  return path;
}

namespace {

bool is_bare(const std::string& key) {
  return !key.empty() &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string::npos;
}

std::string toml_key(const std::string& key) { return is_bare(key) ? key : spec::toml_string(key); }

std::string lines_of(const detail::TunableState::Entries& entries) {
  std::string text;
  for (const auto& [key, value] : entries) text += toml_key(key) + " = " + value + "\n";
  return text;
}

std::string list_text(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return "[" + text + "]";
}

std::string tables_of(const std::string& header, const std::vector<detail::TunableState::Entries>& tables) {
  std::string text;
  for (const auto& entries : tables) text += "\n[[" + header + "]]\n" + lines_of(entries);
  return text;
}

std::string describe(const std::string& argument, const Data& data) {
  switch (data.kind()) {
    case Data::Kind::host:
      return fmt::format("{}: {} bytes of host data", argument, data.host().size());
    case Data::Kind::device:
      return fmt::format("{}: {} bytes of device memory", argument, data.pointer_bytes());
    case Data::Kind::file:
      return argument + ": " + data.path().string();
    case Data::Kind::fill:
      return fmt::format("{}: fill {} {}", argument, spec::fill_words.of(data.fill()), fmt::join(data.numbers(), " "));
    case Data::Kind::generator:
      return argument + ": made by code";
  }
  return argument;
}

/// Adds the kinds of the values in a list or a table of a parameter.
void add_kinds(const spec::TomlNode& node, std::set<std::string>& kinds) {
  for (const spec::TomlNode& item : node.items) add_kinds(item, kinds);
  for (const auto& [key, entry] : node.entries)
    if (key == "values") add_kinds(entry, kinds);
  if (!node.is_array() && !node.is_table()) kinds.insert(spec::kind_name(node.kind));
}

/// Words for parameters whose values are not whole numbers: "1", 1 and true are not the same for a function.
std::string kinds_word(const std::string& key, const std::string& values) {
  std::set<std::string> kinds;
  add_kinds(spec::read_toml("values = " + values, {0}), kinds);
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : ",") + kind;
  return kinds.empty() || text == spec::kind_name(spec::TomlNode::Kind::integer) ? "" : "kinds of " + key + "=" + text;
}

/// A function is a program whose words are its configuration. The first one, which would be the program, depends on it,
/// so no file is looked for.
std::string function_section(const detail::TunableState& state, const detail::TunableState::Section* params) {
  if (!params || params->entries.empty())
    throw Error(ErrorKind::invalid_argument, state.name + ": a function needs a parameter to tune");
  std::vector<std::string> words, kind_words;
  for (const auto& [key, values] : params->entries) {
    for (const std::string& name : spec::parameter_names(key)) {
      if (words.empty()) words.push_back(spec::toml_string("function/{" + name + "}"));
      words.push_back(spec::toml_string(name + "={" + name + "}"));
    }
    if (const std::string word = kinds_word(key, values); !word.empty()) kind_words.push_back(spec::toml_string(word));
  }
  words.insert(words.end(), kind_words.begin(), kind_words.end());
  words.push_back(spec::toml_string("version=" + state.function_version));
  std::string text = "\n[process]\n";
  if (state.prepare) {
    // Each configuration is compiled by itself, and its words, which function_compiler.cpp reads, are its key.
    std::vector<std::string> build = words;
    build.push_back(spec::toml_string("{out}"));
    text += "build = " + list_text(build) + "\n";
  }
  return text + "run = " + list_text(words) + "\ndevice = " + spec::toml_string(state.function_device) + "\n";
}

}  // namespace

std::string toml_array(const std::vector<Formula>& items) {
  std::vector<std::string> quoted;
  for (const Formula& item : items) quoted.push_back(spec::toml_string(item.text()));
  return list_text(quoted);
}

std::string toml_table(const detail::TunableState::Entries& entries) {
  std::string text;
  for (const auto& [key, value] : entries) text += (text.empty() ? " " : ", ") + toml_key(key) + " = " + value;
  return "{" + text + " }";
}

std::string toml_of(const detail::TunableState& state) {
  if (!state.text.empty()) return state.text;
  std::string text;
  const auto lists_of = [&](const std::string& section) {
    std::string lines;
    for (const auto& [key, items] : state.lists)
      if (key.starts_with(section + ".")) lines += key.substr(section.size() + 1) + " = " + list_text(items) + "\n";
    return lines;
  };
  for (const auto& [section, entries] : state.sections) {
    if (section.starts_with("space")) continue;
    text += (text.empty() ? "[" : "\n[") + section + "]\n" + lines_of(entries) + lists_of(section);
  }
  text += tables_of("cases", state.cases);
  const auto* const params = base::find_named(state.sections, "space.params");
  if (!state.constraints.empty()) text += "\n[space]\nconstraints = " + list_text(state.constraints) + "\n";
  if (params) text += "\n[space.params]\n" + lines_of(params->entries);
  if (state.function) text += function_section(state, params);
  text += tables_of("steps", state.steps);
  text += tables_of("args", state.args);
  for (const auto& [argument, data] : state.data) text += "# attached to " + describe(argument, data) + "\n";
  for (const auto& predicate : state.predicates)
    text += fmt::format("# constraint in code over {}\n", list_text(predicate.names));
  if (state.reference) text += "# reference in code\n";
  if (state.check) text += "# validator in code, label " + spec::toml_string(state.check_label) + "\n";
  return text;
}

namespace {

// A predicate is one function call for each combination: this many take about a minute.
constexpr std::uint64_t max_rows = 20'000'000;

/// A predicate over value indices, called once for each combination of the parameters that it uses.
class Table {
 public:
  Table(const detail::TunableState::Predicate& predicate, const spec::Spec& spec, const Bindings& problem)
      : predicate_(predicate), parameters_(spec.parameters), values_(problem) {
    std::vector<std::string> known;
    for (const space::Parameter& parameter : spec.parameters) known.push_back(parameter.name);
    const auto add = [&](const std::string& name) {
      const auto found = std::find(known.begin(), known.end(), name);
      if (found != known.end()) columns_.push_back(static_cast<std::size_t>(found - known.begin()));
      return found != known.end();
    };
    for (const std::string& name : predicate.names)
      if (!add(name) && !problem.contains(name))
        throw Error(ErrorKind::invalid_argument, "constraint in code: '" + base::printable(name, 80) +
                                                     "' is neither a parameter nor a name of the problem" +
                                                     base::did_you_mean(name, known));
    for (const std::string& name : predicate.optional) add(name);
  }
  bool allows(const std::vector<std::uint32_t>& row) {
    std::vector<std::uint32_t> place;
    for (const std::size_t column : columns_) place.push_back(row[column]);
    const auto [entry, is_new] = answers_.try_emplace(std::move(place), false);
    if (!is_new) return entry->second;
    for (const std::size_t column : columns_)
      values_[parameters_[column].name] = parameters_[column].values[row[column]];
    try {
      entry->second = predicate_.holds(values_);
    } catch (...) {
      answers_.erase(entry);
      throw;
    }
    return entry->second;
  }

 private:
  const detail::TunableState::Predicate& predicate_;
  const std::vector<space::Parameter>& parameters_;
  Bindings values_;
  std::vector<std::size_t> columns_;
  std::map<std::vector<std::uint32_t>, bool> answers_;
};

spec::ArgSpec& input_named(spec::Spec& spec, const std::string& name) {
  std::vector<std::string> names;
  for (spec::ArgSpec& each : spec.args) {
    const bool is_data = each.kind == spec::ArgKind::buffer || (each.kind == spec::ArgKind::constant && !each.value);
    if (!is_data || !spec::is_input(each.role)) continue;
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw Error(ErrorKind::invalid_argument, "data for '" + base::printable(name, 80) +
                                               "', which is not an input of the kernel" +
                                               base::did_you_mean(name, names));
}

}  // namespace

std::optional<SpecFile> spec_file_of(const Tunable& tunable) { return Access::state(tunable).file; }

spec::Spec spec_of(const Tunable& tunable, const std::string& backend) {
  const detail::TunableState& state = Access::state(tunable);
  const bool built = state.text.empty();
  const std::string name = built ? state.name + " (built in code)" : state.text_name;
  spec::Spec spec = spec::parse_spec(toml_of(state), name, state.base_dir, {state.defines, backend});
  if (spec.space_only())
    throw Error(ErrorKind::invalid_spec,
                name + ": the kernel has no source; give it one with source_file() or source()");
  if (state.reference) {
    spec.validate.reference = {};
    spec.validate.reference.kind = spec::ReferenceSpec::Kind::given;
  }
  if (state.check) spec.validate.reference.checked_by = state.check_label;
  for (const auto& [argument, data] : state.data) {
    spec::ArgSpec& arg = input_named(spec, argument);
    if (data.kind() == Data::Kind::fill) {
      arg.fill = data.fill();
      arg.numbers.clear();
      for (const std::string& text : data.numbers()) arg.numbers.push_back({text, arg.at});
      arg.file.clear();
    } else {
      arg.in_code = true;
    }
  }
  for (const auto& metric : state.metrics) {
    if (!metric.code) throw Error(ErrorKind::invalid_argument, name + ": the metric '" + metric.name + "' is empty");
    if (spec::Metric* const own = base::find_named(spec.metrics, metric.name)) {
      own->code = metric.code;
      own->label = metric.label;
    }
  }
  const bool judged = state.reference || state.check;
  if (judged &&
      std::none_of(spec.args.begin(), spec.args.end(), [](const spec::ArgSpec& a) { return spec::is_output(a.role); }))
    throw Error(ErrorKind::invalid_spec,
                name + ": there is a reference or a validator, but no argument is an output or inout");
  return spec;
}

void apply_predicates(const Tunable& tunable, spec::Spec& spec, const Bindings& problem, const Bindings& device_facts,
                      const std::function<void()>& poll) {
  const auto& predicates = Access::state(tunable).predicates;
  if (predicates.empty()) return;
  std::vector<Table> tables;
  for (const auto& predicate : predicates) tables.emplace_back(predicate, spec, problem);
  const space::Space space = spec::make_space(spec, problem, device_facts, poll);
  if (space.size() > max_rows)
    throw Error(ErrorKind::invalid_argument,
                std::to_string(space.size()) +
                    " configurations are too many for constraints in code, which are asked " + "one by one (at most " +
                    std::to_string(max_rows) + "): write those that remove most of them as text");
  std::vector<std::vector<std::uint32_t>> rows;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    if (poll && i % 4096 == 0) poll();
    std::vector<std::uint32_t> row = space.value_indices(i);
    if (std::all_of(tables.begin(), tables.end(), [&](Table& table) { return table.allows(row); }))
      rows.push_back(std::move(row));
  }
  if (rows.empty())
    throw Error(ErrorKind::nothing_valid, "the constraints in code remove all " + std::to_string(space.size()) +
                                              " configurations that the constraints of the spec leave");
  spec.configs = std::move(rows);
}

}  // namespace xtune

// The spec file that is equivalent to a spec built in code, so that both have the same reader and messages.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/tunable_state.hpp"
#include "base/named.hpp"
#include "core/spec/document.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/spec.hpp"

namespace xtune {
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
      if (!data.integer_range().empty())
        return argument + ": integers from " + data.integer_range()[0] + " to below " + data.integer_range()[1];
      return argument + ": fill " + spec::fill_words.of(data.fill());
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
  if (state.check) text += "# check in code, label " + spec::toml_string(state.check_label) + "\n";
  return text;
}

}  // namespace xtune

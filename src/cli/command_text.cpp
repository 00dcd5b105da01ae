// Reads the parser's description of its options.
#include "cli/command_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace xtune::cli {
namespace {

// A longer list of words is put into the option's summary.
constexpr std::size_t longest_value = 16;

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  if (text.find('|') == std::string::npos) return words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

ValueKind kind_of(const CLI::Option& option, const std::string& type) {
  if (option.get_items_expected_max() == 0) return ValueKind::none;
  if (type == "FILE" || type == "SPEC") return ValueKind::file;
  return type == "DIR" ? ValueKind::directory : ValueKind::text;
}

bool is_repeated(const CLI::Option& option) { return option.get_expected_max() > 1; }

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  const std::string type = option.get_type_name();
  text.kind = kind_of(option, type);
  text.words = split_words(type);
  text.required = option.get_required();
  text.repeated = is_repeated(option);
  text.summary = option.get_description();
  if (text.kind == ValueKind::none) return text;
  text.value = type.size() > longest_value && !text.words.empty() ? "NAME" : type;
  if (text.names.empty()) {  // a positional argument
    if (text.value != type) text.value = "COMMAND";
    if (text.repeated) text.value += "...";
    return text;
  }
  if (text.value != type) text.remark = fmt::format(": {}", fmt::join(text.words, ", "));
  if (const std::string value = option.get_default_str(); !value.empty() && value != "\"\"")
    text.remark += fmt::format(" (default: {})", value);
  else if (text.repeated)
    text.remark += " (may be repeated)";
  return text;
}

std::string usage_of(const CommandText& command) {
  std::string usage = command.path;
  if (!command.commands.empty()) usage += " COMMAND";
  for (const OptionText& argument : command.arguments)
    usage += argument.required ? " " + argument.value : " [" + argument.value + "]";
  for (const auto& [group, options] : command.groups)
    for (const OptionText& option : options)
      if (option.required) usage += fmt::format(" {} {}", option.names.front(), option.value);
  return usage + " [OPTIONS]";
}

void add_to_group(CommandText& command, const std::string& group, OptionText option) {
  const auto found =
      std::find_if(command.groups.begin(), command.groups.end(), [&](const auto& each) { return each.first == group; });
  if (found != command.groups.end())
    found->second.push_back(std::move(option));
  else
    command.groups.push_back({group, {std::move(option)}});
}

std::size_t rank_of(const std::string& group) {
  using namespace option_group;
  const char* const order[] = {search, problem, device, job, output, store};
  const auto found = std::find(std::begin(order), std::end(order), group);
  return group == other ? std::size(order) + 1 : static_cast<std::size_t>(found - std::begin(order));
}

/// Reads a footer: lines that begin with spaces are examples, the others are notes.
void read_footer(const std::string& footer, CommandText& command) {
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  "))
      command.examples.push_back(line.substr(2));
    else if (!line.empty() && line != "Example:")
      command.notes.push_back(line);
  }
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "xtune" : full_name(*app.get_parent()) + " " + app.get_name();
}

CommandText describe(const CLI::App& app) {
  CommandText command;
  command.name = app.get_name();
  command.path = full_name(app);
  command.summary = app.get_description();
  read_footer(app.get_footer(), command);
  const std::string unnamed = CLI::OptionDefaults().get_group();  // its name differs between releases of CLI11
  for (const CLI::Option* const option : app.get_options()) {
    const std::string group = option->get_group();
    if (option->get_positional())
      command.arguments.push_back(option_text(*option));
    else if (!group.empty())
      add_to_group(command, group == unnamed ? option_group::other : group, option_text(*option));
  }
  std::stable_sort(command.groups.begin(), command.groups.end(),
                   [](const auto& a, const auto& b) { return rank_of(a.first) < rank_of(b.first); });
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!each->get_group().empty()) command.commands.push_back(describe(*each));
  command.usage = usage_of(command);
  return command;
}

}  // namespace xtune::cli

// Wraps and indents; the texts come from describe().
#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "report/wrap.hpp"

namespace xtune::cli {
namespace {

constexpr std::size_t indent = 2, gap = 2, max_left = 24;

std::string spaces(std::size_t count) { return std::string(count, ' '); }

/// Adds the names on the left and their description on the right, or below if there is not enough room.
void add_entry(std::string& text, const std::string& left, const std::string& summary, std::size_t left_width,
               std::size_t width) {
  const std::size_t hang = indent + left_width + gap;
  text += spaces(indent) + left;
  if (left.size() > left_width)
    text += "\n" + spaces(hang);
  else
    text += spaces(left_width - left.size() + gap);
  report::add_wrapped(text, summary, hang, hang, width);
}

using Entries = std::vector<std::pair<std::string, std::string>>;

std::size_t left_width_of(const std::vector<std::pair<std::string, Entries>>& sections) {
  std::size_t left = 0;
  for (const auto& [title, entries] : sections)
    for (const auto& [names, summary] : entries)
      if (names.size() <= max_left) left = std::max(left, names.size());
  return left;
}

std::string shown_names(const OptionText& option) {
  const std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  return option.value.empty() ? names : names + (names.empty() ? "" : " ") + option.value;
}

Entries entries_of(const std::vector<OptionText>& options) {
  Entries entries;
  for (const OptionText& option : options) entries.emplace_back(shown_names(option), option.summary + option.remark);
  return entries;
}

std::vector<std::pair<std::string, Entries>> sections_of(const CommandText& command) {
  std::vector<std::pair<std::string, Entries>> sections;
  if (!command.arguments.empty()) sections.emplace_back("Arguments", entries_of(command.arguments));
  for (const CommandText& each : command.commands) {
    if (&each == &command.commands.front()) sections.emplace_back("Commands", Entries());
    sections.back().second.emplace_back(each.name, each.summary);
  }
  for (const auto& [group, options] : command.groups) sections.emplace_back(group, entries_of(options));
  if (command.path == "xtune") {
    Entries codes;
    for (const auto& [code, meaning] : exit_code_meanings()) codes.emplace_back(std::to_string(code), meaning);
    sections.emplace_back("Exit codes", std::move(codes));
  }
  return sections;
}

/// Examples can be pasted even if they are wrapped.
void add_examples(std::string& text, const std::vector<std::string>& examples, std::size_t width) {
  if (!examples.empty()) text += "\nExample:\n";
  for (const std::string& example : examples) {
    text += spaces(indent);
    report::add_wrapped(text, example, indent, 3 * indent, width, " \\\n");
  }
}

}  // namespace

std::string help_text(const CommandText& command, std::size_t width) {
  std::string text;
  report::add_wrapped(text, command.summary, 0, 0, width);
  text += "\nUsage: ";
  report::add_wrapped(text, command.usage, 7, 9, width);
  const auto sections = sections_of(command);
  const std::size_t left = left_width_of(sections);
  for (const auto& [title, entries] : sections) {
    text += fmt::format("\n{}:\n", title);
    for (const auto& [names, summary] : entries) add_entry(text, names, summary, left, width);
  }
  add_examples(text, command.examples, width);
  for (const std::string& note : command.notes) {
    text += '\n';
    report::add_wrapped(text, note, 0, 0, width);
  }
  return text;
}

std::string help_of_all(const CommandText& command, std::size_t width) {
  std::string text = help_text(command, width);
  for (const CommandText& each : command.commands) text += "\n" + spaces(1) + "\n" + help_of_all(each, width);
  return text;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const {
  const std::size_t width = terminal_width(STDOUT_FILENO);
  const CommandText command = describe(*app);
  return mode == CLI::AppFormatMode::All ? help_of_all(command, width) : help_text(command, width);
}

}  // namespace xtune::cli

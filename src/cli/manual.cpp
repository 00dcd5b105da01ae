// Writes man(7); the texts of the pages come from describe().
#include "cli/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/commands.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {
namespace {

/// Escapes characters with a meaning in roff. Hyphens stay ASCII hyphens, which users can copy.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else if (c == '`')
      escaped += "\\(ga";
    else if (c == '\'')
      escaped += "\\(aq";
    else if (c == '^')
      escaped += "\\(ha";
    else if (c == '~')
      escaped += "\\(ti";
    else
      escaped += c;
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

std::string dashed(std::string path) {
  std::replace(path.begin(), path.end(), ' ', '-');
  return path;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  if (!option.value.empty()) names += (names.empty() ? "" : " ") + italic(option.value);
  return fmt::format(".TP\n{}\n{}.\n", names, roff(option.summary + option.remark));
}

std::string lower_first(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string see_also(const CommandText& command, const CommandText& root) {
  std::vector<std::string> pages;
  if (&command != &root) pages.push_back(root.path);
  for (const CommandText& each : command.commands) pages.push_back(each.path);
  std::string text;
  for (const std::string& page : pages)
    text += (text.empty() ? "" : ",\n") + fmt::format(".BR {} (1)", roff(dashed(page)));
  return text.empty() ? "" : ".SH SEE ALSO\n" + text + "\n";
}

}  // namespace

std::string manual_page(const CommandText& command, const CommandText& root) {
  std::string title = dashed(command.path);
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format(".TH {} 1 \"\" \"xtune {}\" \"User Commands\"\n", title, version);
  const bool is_root = command.path == root.path;
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(dashed(command.path)),
                      roff(is_root ? "find the fastest configuration of a GPU kernel" : lower_first(command.summary)));
  text += fmt::format(".SH SYNOPSIS\n{} {}\n", bold(command.path),
                      italic(command.usage.substr(std::min(command.usage.size(), command.path.size() + 1))));
  text += fmt::format(".SH DESCRIPTION\n{}{}\n", roff(command.summary), command.summary.ends_with('.') ? "" : ".");
  for (const std::string& note : command.notes) text += fmt::format(".PP\n{}\n", roff(note));
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandText& each : command.commands)
    text += fmt::format(".TP\n{}\n{}.\n", bold(each.name), roff(each.summary));
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const OptionText& argument : command.arguments) text += entry(argument);
  if (!command.groups.empty()) text += ".SH OPTIONS\n";
  for (const auto& [group, options] : command.groups) {
    if (group != option_group::other) text += fmt::format(".SS {}\n", group);
    if (group == option_group::other && command.groups.size() > 1) text += ".SS Other\n";
    for (const OptionText& option : options) text += entry(option);
  }
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_code_meanings())
    text += fmt::format(".TP\n.B {}\n{}.\n", code, roff(meaning));
  if (!command.examples.empty()) {
    text += ".SH EXAMPLES\n.EX\n";
    for (const std::string& example : command.examples) text += roff(example) + "\n";
    text += ".EE\n";
  }
  return text + see_also(command, root);
}

namespace {

void add_pages(const CommandText& command, const CommandText& root,
               std::vector<std::pair<std::string, std::string>>& pages) {
  pages.emplace_back(dashed(command.path) + ".1", manual_page(command, root));
  for (const CommandText& each : command.commands) add_pages(each, root, pages);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> manual_pages(const CommandText& root) {
  std::vector<std::pair<std::string, std::string>> pages;
  add_pages(root, root, pages);
  return pages;
}

}  // namespace xtune::cli

// For a misspelt command, CLI11 reports that a command is missing, without the word.
#include "cli/command_line.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/command_text.hpp"

namespace xtune::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const auto*) { return true; });
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* const each : commands_of(app))
    if (each->get_name() == name) return each;
  return nullptr;
}

Words command_names(const CLI::App& app) {
  Words names;
  for (const CLI::App* const each : commands_of(app))
    if (!each->get_group().empty()) names.push_back(each->get_name());
  return names;
}

Words option_names(const CLI::App& app) {
  Words names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

}  // namespace

const CLI::App& chosen_command(const CLI::App& app, const Words& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    const CLI::App* const next = find_command(*at, word);
    if (next == nullptr) break;
    at = next;
  }
  return *at;
}

std::string unknown_command(const CLI::App& app, const Words& words) {
  const CLI::App& command = chosen_command(app, words);
  if (commands_of(command).empty()) return {};
  // Only options may be between a command and its subcommands, and these take no values.
  std::size_t position = 0;
  for (const CLI::App* at = &command; at != &app; at = at->get_parent()) ++position;
  while (position < words.size() && words[position].starts_with('-')) ++position;
  if (position == words.size() || find_command(command, words[position])) return {};
  const Words names = command_names(command);
  const std::string& word = words[position];
  const std::string of = &command == &app ? "" : " of `" + full_name(command) + "`";
  return fmt::format("unknown command '{}'{}{}; the commands are {}", base::printable(word, 80), of,
                     base::did_you_mean(word, names), fmt::join(names, ", "));
}

std::string parse_error_text(const CLI::App& app, const Words& words, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app, words);
  // Unknown words are reported before missing ones: often the missing word is the unknown one, misspelt.
  for (const std::string& word : app.remaining(true)) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with('-') && name != "-")
      return fmt::format("unknown option '{}'{}", base::printable(name, 80),
                         base::did_you_mean(name, option_names(command)));
    return fmt::format("unexpected argument '{}'", base::printable(word, 80));
  }
  return base::printable_lines(error.what());
}

}  // namespace xtune::cli

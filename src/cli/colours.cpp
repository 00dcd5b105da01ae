// NO_COLOR (no-color.org) takes precedence over CLICOLOR_FORCE.
#include "cli/colours.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "cli/commands.hpp"

namespace xtune::cli {
namespace {

std::string& chosen() {
  static std::string word = "auto";
  return word;
}

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && *value;
}

}  // namespace

void choose_colours(const std::vector<std::string>& words) {
  constexpr std::string_view option = "--color";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) chosen() = words[i + 1];
    if (words[i].starts_with("--color=")) chosen() = words[i].substr(option.size() + 1);
  }
}

bool has_colours(std::FILE* stream) {
  if (chosen() == "always") return true;
  if (chosen() == "never" || is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && std::string_view(std::getenv("CLICOLOR_FORCE")) != "0") return true;
  const char* const terminal = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && terminal && std::string_view(terminal) != "dumb";
}

void add_color_option(CLI::App& command) {
  const auto commands = command.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* const each : commands)
    if (!each->get_group().empty()) add_color_option(*each);
  if (!commands.empty()) return;
  static std::string word = "auto";
  restrict_to(command.add_option("--color", word, "Colour text: on terminals, always or never"),
              {"auto", "always", "never"})
      ->capture_default_str()
      ->group(option_group::output);
}

}  // namespace xtune::cli

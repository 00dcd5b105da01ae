// Parses command lines of xtune and runs none of them. Each line of standard input is a JSON list of the words after
// "xtune"; the answer is a line with what is wrong with it, empty if nothing is.
#include <fmt/core.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/direct_spec.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"

namespace {

using namespace xtune;

void run_nothing(CLI::App& command) {
  command.callback([] {});
  for (CLI::App* const each : command.get_subcommands([](CLI::App*) { return true; })) run_nothing(*each);
}

std::string complaint(const cli::Words& given) {
  const cli::Words words = cli::words_to_parse(given);
  CLI::App app("", "xtune");
  app.set_version_flag("-V,--version", "");
  app.set_help_all_flag("--help-all", "");
  app.require_subcommand(1);
  cli::Context context;
#define COMMAND(add) cli::add(app, context);
#include "cli/commands.def"
#undef COMMAND
  cli::add_color_option(app);
  run_nothing(app);
  try {
    if (const std::string why = cli::unknown_command(app, words); !why.empty()) return why;
    app.parse(cli::Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? "" : cli::parse_error_text(app, words, error);
  } catch (const std::exception& error) {
    if (const cli::Words unknown = app.remaining(true); !unknown.empty())
      return cli::parse_error_text(app, words, CLI::ExtrasError(unknown));
    // A word in capitals that stands for a spec is not a kernel's name.
    return std::string_view(error.what()).starts_with("cannot read ") ? "" : error.what();
  }
  return "";
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::string text = complaint(nlohmann::json::parse(line).get<cli::Words>());
    fmt::print("{}\n", text.substr(0, text.find('\n')));
  }
}

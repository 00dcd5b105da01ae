// xtune help and xtune version: what --help and --version print, in the words that people try first.
#include <unistd.h>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {

void add_help_command(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("help", "Print the help of a command");
  add_example(*command, "xtune help store ls");
  static Words words;
  command->add_option("command", words, "Command; default: xtune itself")->type_name("COMMAND");
  command->callback([&app] {
    if (const std::string why = unknown_command(app, words); !why.empty())
      throw Error(ErrorKind::invalid_argument, why);
    print_out("{}", help_text(describe(chosen_command(app, words)), terminal_width(STDOUT_FILENO)));
  });
}

void add_version_command(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  add_example(*command, "xtune version");
  command->callback([] { print_out("xtune {}\n", version); });
}

}  // namespace xtune::cli

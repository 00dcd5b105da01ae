// xtune help, version and completion: documentation of the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/help.hpp"
#include "cli/manual.hpp"
#include "cli/terminal.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {
namespace {

/// Writes below `folder` with the layout of an installed tree's share directory.
void write_documents(const CommandText& xtune, const std::filesystem::path& folder) {
  for (const auto& [name, text] : manual_pages(xtune)) base::write_file_atomically(folder / "man/man1" / name, text);
  const std::pair<const char*, const char*> places[] = {{"bash", "bash-completion/completions/xtune"},
                                                        {"zsh", "zsh/site-functions/_xtune"},
                                                        {"fish", "fish/vendor_completions.d/xtune.fish"}};
  for (const auto& [shell, place] : places)
    base::write_file_atomically(folder / place, completion_script(xtune, shell));
}

}  // namespace

void add_help_command(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("help", "Print the help of a command, or its manual page");
  add_example(*command, "xtune help store ls\n  xtune help --man run | man -l -");
  static Words words;
  static bool man = false;
  std::vector<std::string> commands;
  for (const CommandText& each : describe(app).commands) commands.push_back(each.name);
  command->add_option("command", words, "Command; default: xtune itself")
      ->type_name(fmt::format("{}", fmt::join(commands, "|")));
  command->add_flag("--man", man, "Print a manual page, in the language of man(7)");
  command->callback([&app] {
    if (const std::string why = unknown_command(app, words); !why.empty())
      throw Error(ErrorKind::invalid_argument, why);
    const CommandText text = describe(chosen_command(app, words));
    print_out("{}", man ? manual_page(text, describe(app)) : help_text(text, terminal_width(STDOUT_FILENO)));
  });
}

void add_version_command(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  add_example(*command, "xtune version");
  command->callback([] { print_out("xtune {}\n", version); });
}

void add_completion_command(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
  command->footer(
      "`make package` and `cmake --install` install these scripts. Without them:\n\nExample:\n"
      "  source <(xtune completion bash)\n  source <(xtune completion zsh)\n  xtune completion fish | source");
  static std::string shell;
  restrict_to(command->add_option("shell", shell, "Shell"), completion_shells())->required();
  command->callback([&app] { print_out("{}", completion_script(describe(app), shell)); });
}

void add_documents_command(CLI::App& app, Context&) {
  CLI::App* command =
      app.add_subcommand("documents", "Write manual pages and completion scripts: part of the build")->group("");
  add_example(*command, "xtune documents build/share");
  static std::string folder;
  command->add_option("folder", folder, "Directory for share/man and so on")->required()->type_name("DIR");
  command->callback([&app] { write_documents(describe(app), folder); });
}

}  // namespace xtune::cli

// xtune help, version and completion: documentation of the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.hpp"
#include "cli/completion.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
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

struct HelpOptions {
  Words words;
  bool man = false;
};

}  // namespace

void add_help_command(CLI::App& app, Context& context) {
  std::vector<std::string> commands;
  for (const CommandText& each : describe(app).commands) commands.push_back(each.name);
  const auto [command, options] = add_command<HelpOptions>(
      app, context, "help", "Print the help of a command, or its manual page",
      "xtune help store ls\n  xtune help --man run | man -l -", [&app](HelpOptions& given) {
        if (const std::string why = unknown_command(app, given.words); !why.empty()) throw bad_argument("{}", why);
        const CommandText text = describe(chosen_command(app, given.words));
        print_out("{}", given.man ? manual_page(text, describe(app)) : help_text(text, terminal_width(STDOUT_FILENO)));
        return done;
      });
  add_argument(command, "command", options.words, fmt::format("{}", fmt::join(commands, "|")),
               "Command; default: xtune itself")
      ->required(false);
  command.add_flag("--man", options.man, "Print a manual page, in the language of man(7)");
}

void add_version_command(CLI::App& app, Context&) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  add_example(*command, "xtune version");
  command->callback([] { print_out("xtune {}\n", version); });
}

void add_completion_command(CLI::App& app, Context& context) {
  const auto [command, shell] = add_command<std::string>(
      app, context, "completion", "Print the completion script of a shell", "", [&app](const std::string& given) {
        print_out("{}", completion_script(describe(app), given));
        return done;
      });
  command.footer(
      "`make package` and `cmake --install` install these scripts. Without them:\n\nExample:\n"
      "  source <(xtune completion bash)\n  source <(xtune completion zsh)\n  xtune completion fish | source");
  restrict_to(add_argument(command, "shell", shell, "", "Shell"), completion_shells());
}

void add_documents_command(CLI::App& app, Context& context) {
  const auto [command, folder] = add_command<std::string>(
      app, context, "documents", "Write manual pages and completion scripts: part of the build",
      "xtune documents build/share", [&app](const std::string& given) {
        write_documents(describe(app), given);
        return done;
      });
  command.group("");
  add_argument(command, "folder", folder, "DIR", "Directory for share/man and so on");
}

}  // namespace xtune::cli

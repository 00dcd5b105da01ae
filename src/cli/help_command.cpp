// xtune help, version and completion: documentation of the command line. A shell's script asks `xtune __complete`.
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "system/files.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {
namespace {

constexpr const char* bash_script = R"(# Completion of xtune for bash, written by `xtune completion bash`.
_xtune() {
  local word
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    case $word in
      :file) compopt -o default ;;
      :directory) compopt -o dirnames ;;
      *=) compopt -o nospace; COMPREPLY+=("$word") ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -F _xtune xtune
)";

constexpr const char* zsh_script = R"(#compdef xtune
# Completion of xtune for zsh, written by `xtune completion zsh`.
_xtune() {
  local word summary paths
  local -a offered
  [[ $PREFIX == --*=* ]] && compset -P '*='
  while IFS=$'\t' read -r word summary; do
    case $word in
      :file) paths=. ;;
      :directory) paths=/ ;;
      *) offered+=("${word//:/\\:}${summary:+:$summary}") ;;
    esac
  done < <(${~words[1]} __complete "${(@Q)words[1,CURRENT]}" 2>/dev/null)
  local -a glue
  [[ ${offered[1]%%:*} == *= ]] && glue=(-S '')
  (( $#offered )) && _describe xtune offered $glue
  [[ -n $paths ]] && _files ${${paths:#.}:+-/}
}
if [[ $funcstack[1] == _xtune ]]; then
  _xtune "$@"
else
  compdef _xtune xtune
fi
)";

constexpr const char* fish_script = R"(# Completion of xtune for fish, written by `xtune completion fish`.
function __xtune_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l option (string match -r -- '^--[^=]+=' "$current")
    set -l value (string replace -- "$option" '' "$current")
    for line in ($words[1] __complete $words "$current" 2>/dev/null)
        switch $line
            case :file
                set line (__fish_complete_path "$value")
            case :directory
                set line (__fish_complete_directories "$value")
        end
        printf '%s\n' "$option"$line
    end
end
complete -c xtune -f -a '(__xtune_complete)'
)";

/// The supported shells: their scripts, and the places of these below an installed tree's share directory.
struct Shell {
  const char *name, *script, *place;
};
constexpr Shell shells[] = {{"bash", bash_script, "bash-completion/completions/xtune"},
                            {"zsh", zsh_script, "zsh/site-functions/_xtune"},
                            {"fish", fish_script, "fish/vendor_completions.d/xtune.fish"}};

/// Writes below `folder` with the layout of an installed tree's share directory.
void write_documents(const CommandText& xtune, const std::filesystem::path& folder) {
  for (const auto& [name, text] : manual_pages(xtune)) system::write_file_atomically(folder / "man/man1" / name, text);
  for (const Shell& shell : shells) system::write_file_atomically(folder / shell.place, shell.script);
}

struct HelpOptions {
  Words words;
  bool man = false;
};

}  // namespace

void add_help_command(CLI::App& app, Context& context) {
  std::vector<std::string> commands;
  for (const CommandText& each : describe(app).commands) commands.push_back(each.name);
  const auto [command, options] =
      add_command<HelpOptions>(app, context, "help", "Print the help of a command, or its manual page",
                               "xtune help store ls\n  xtune help --man run | man -l -", [&app](HelpOptions& given) {
                                 if (const std::string why = unknown_command(app, given.words); !why.empty())
                                   throw bad_argument("{}", why);
                                 const CommandText text = describe(chosen_command(app, given.words));
                                 print_exactly("{}", given.man ? manual_page(text, describe(app))
                                                               : help_text(text, terminal_width(STDOUT_FILENO)));
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
  const auto [command, chosen] = add_command<std::string>(
      app, context, "completion", "Print the completion script of a shell", "", [](const std::string& name) {
        for (const Shell& shell : shells)
          if (name == shell.name) print_exactly("{}", shell.script);
        return done;
      });
  command.footer(
      "`make package` and `cmake --install` install these scripts. Without them:\n\nExample:\n"
      "  source <(xtune completion bash)\n  source <(xtune completion zsh)\n  xtune completion fish | source");
  std::vector<std::string> names;
  for (const Shell& shell : shells) names.emplace_back(shell.name);
  restrict_to(add_argument(command, "shell", chosen, "", "Shell"), names);
  CLI::App& answer =
      *app.add_subcommand("__complete", "Complete the words that follow: for a shell's script")->group("");
  answer.set_help_flag();
  answer.prefix_command();
  answer.callback([&app, &answer] { print_exactly("{}", completions(describe(app), answer.remaining())); });
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

// One writer for each shell.
#include "cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

namespace xtune::cli {
namespace {

using Names = std::vector<std::string>;

std::vector<const OptionText*> options_of(const CommandText& command) {
  std::vector<const OptionText*> options;
  for (const auto& [group, list] : command.groups)
    for (const OptionText& option : list) options.push_back(&option);
  return options;
}

/// "store ls" for "xtune store ls"; empty for xtune itself.
std::string words_of(const CommandText& command) {
  constexpr std::size_t program = std::string_view("xtune").size();
  return command.path.size() > program ? command.path.substr(program + 1) : "";
}

void visit(const CommandText& command, const std::function<void(const CommandText&)>& call) {
  call(command);
  for (const CommandText& each : command.commands) visit(each, call);
}

Names command_paths(const CommandText& xtune) {
  Names paths;
  visit(xtune, [&](const CommandText& command) {
    if (&command != &xtune) paths.push_back(words_of(command));
  });
  return paths;
}

Names names_of(const std::vector<CommandText>& commands) {
  Names names;
  for (const CommandText& each : commands) names.push_back(each.name);
  return names;
}

/// All values of a command's argument, if it has a closed set.
Names argument_words(const CommandText& command) {
  return command.arguments.empty() ? Names() : command.arguments.front().words;
}

bool takes_paths(const CommandText& command) {
  return std::any_of(command.arguments.begin(), command.arguments.end(),
                     [](const OptionText& argument) { return argument.kind == ValueKind::file; });
}

// bash

std::string bash_pattern(const Names& texts) {
  std::string pattern;
  for (const std::string& text : texts) pattern += (pattern.empty() ? "" : " | ") + ("'" + text + "'");
  return pattern;
}

/// The bash code for an option's value.
std::string bash_values(const OptionText& option) {
  if (!option.words.empty())
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", fmt::join(option.words, " "));
  if (option.kind == ValueKind::file) return "compopt -o default";
  return option.kind == ValueKind::directory ? "compopt -o dirnames" : ":";
}

std::string bash_script(const CommandText& xtune) {
  std::map<std::string, Names> values;
  std::string commands;
  visit(xtune, [&](const CommandText& command) {
    Names flags, words = names_of(command.commands);
    for (const OptionText* const option : options_of(command))
      for (const std::string& name : option->names) {
        flags.push_back(name);
        if (option->kind != ValueKind::none) values[bash_values(*option)].push_back(words_of(command) + " " + name);
      }
    if (words.empty()) words = argument_words(command);
    commands +=
        fmt::format("    '{}')\n      options='{}'\n      words='{}'\n      files={}\n      ;;\n", words_of(command),
                    fmt::join(flags, " "), fmt::join(words, " "), takes_paths(command) ? "yes" : "");
  });
  std::string cases;
  for (const auto& [action, options] : values)
    cases += fmt::format("    {})\n      {}\n      return\n      ;;\n", bash_pattern(options), action);
  Names paths = command_paths(xtune);
  return fmt::format(R"(# Completion of xtune for bash, written by `xtune completion bash`.
_xtune() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command= at next options= words= files=
  COMPREPLY=()
  # bash takes the = of --option=value for a word.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]] && ((COMP_CWORD > 1)); then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((at = 1; at < COMP_CWORD; ++at)); do
    next=${{command:+$command }}${{COMP_WORDS[at]}}
    case $next in
      {})
        command=$next
        ;;
    esac
  done
  case "$command $previous" in
{}  esac
  case $command in
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ -n $files ]]; then
    compopt -o default
  fi
}}
complete -F _xtune xtune
)",
                     bash_pattern(paths), cases, commands);
}

// zsh

/// For text between single quotes that zsh evaluates once more: everything except plain characters is escaped.
std::string zsh_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' || c == '/';
    escaped += plain ? std::string(1, c) : c == '\'' ? "\\'\\''" : std::string("\\") + c;
  }
  return escaped;
}

/// For the description of an option, between brackets and single quotes.
std::string zsh_explanation(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'')
      escaped += "'\\''";
    else
      escaped += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return escaped;
}

std::string zsh_function(const CommandText& command) {
  std::string name = "_" + command.path;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string zsh_action(const OptionText& option) {
  if (!option.words.empty()) return fmt::format("({})", fmt::join(option.words, " "));
  if (option.kind == ValueKind::file) return "_files";
  return option.kind == ValueKind::directory ? "_files -/" : " ";
}

std::string zsh_option(const OptionText& option) {
  std::string value;
  if (option.kind != ValueKind::none) value = fmt::format(":{}:{}", zsh_explanation(option.value), zsh_action(option));
  const std::string text = fmt::format("[{}]{}", zsh_explanation(option.summary), value);
  std::string lines;
  for (const std::string& name : option.names) {
    const bool takes_equals = name.starts_with("--") && option.kind != ValueKind::none;
    lines +=
        fmt::format(" \\\n    '{}{}{}{}'", option.repeated ? "*" : fmt::format("({})", fmt::join(option.names, " ")),
                    name, takes_equals ? "=" : "", text);
  }
  return lines;
}

std::string zsh_body(const CommandText& command) {
  std::string text = fmt::format(
      "{}() {{\n  local state line curcontext=$curcontext\n  typeset -A opt_args\n"
      "  _arguments -C",
      zsh_function(command));
  for (const OptionText* const option : options_of(command)) text += zsh_option(*option);
  if (!command.commands.empty()) {
    std::string list;
    for (const CommandText& each : command.commands)
      list += fmt::format("{}{}\\:{}", list.empty() ? "" : " ", each.name, zsh_escaped(each.summary));
    text += fmt::format(
        " \\\n    '1:command:(({}))' \\\n    '*::argument:->next'\n  [[ $state == next ]] || return\n"
        "  case $line[1] in\n",
        list);
    for (const CommandText& each : command.commands)
      text += fmt::format("    {}) {} ;;\n", each.name, zsh_function(each));
    return text + "  esac\n}\n\n";
  }
  for (const OptionText& argument : command.arguments)
    text += fmt::format(" \\\n    '{}:{}:{}'", argument.repeated ? "*" : "", zsh_explanation(argument.value),
                        zsh_action(argument));
  return text + "\n}\n\n";
}

std::string zsh_script(const CommandText& xtune) {
  std::string text = "#compdef xtune\n# Completion of xtune for zsh, written by `xtune completion zsh`.\n\n";
  visit(xtune, [&](const CommandText& command) { text += zsh_body(command); });
  // Loaded as a function by compinit, or read by source.
  return text + "if [[ $funcstack[1] == _xtune ]]; then\n  _xtune \"$@\"\nelse\n  compdef _xtune xtune\nfi\n";
}

// fish

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

std::string fish_option(const OptionText& option) {
  std::string text;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.words.empty())
    text += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(option.words, " "))));
  else if (option.kind == ValueKind::directory)
    text += " -x -a '(__fish_complete_directories)'";
  else if (option.kind == ValueKind::file)
    text += " -r -F";
  else if (option.kind == ValueKind::text)
    text += " -x";
  return text + " -d " + fish_quoted(option.summary);
}

std::string fish_script(const CommandText& xtune) {
  std::string text = fmt::format(R"(# Completion of xtune for fish, written by `xtune completion fish`.
function __xtune_at
    set -l path
    for word in (commandline -opc)[2..-1]
        set -l next (string join -- ' ' $path $word)
        if contains -- $next '{}'
            set path $next
        end
    end
    test "$path" = "$argv[1]"
end
complete -c xtune -f
)",
                                 fmt::join(command_paths(xtune), "' '"));
  visit(xtune, [&](const CommandText& command) {
    const std::string begin =
        fmt::format("complete -c xtune -n {}", fish_quoted("__xtune_at '" + words_of(command) + "'"));
    for (const CommandText& each : command.commands)
      text += fmt::format("{} -a {} -d {}\n", begin, each.name, fish_quoted(each.summary));
    for (const std::string& word : argument_words(command)) text += fmt::format("{} -a {}\n", begin, word);
    if (takes_paths(command)) text += begin + " -F\n";
    for (const OptionText* const option : options_of(command)) text += begin + fish_option(*option) + "\n";
  });
  return text;
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells{"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const CommandText& xtune, const std::string& shell) {
  return shell == "bash" ? bash_script(xtune) : shell == "zsh" ? zsh_script(xtune) : fish_script(xtune);
}

}  // namespace xtune::cli

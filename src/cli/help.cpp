// Reads the parser's description of its options; wraps and indents it.
#include "cli/help.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>
#include <unistd.h>

#include <cctype>
#include <string_view>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/device/device_info.hpp"
#include "core/spec/document.hpp"
#include "report/text/table.hpp"
#include "system/files.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {

namespace {

// A longer list of words is put into the option's summary.
constexpr std::size_t longest_value = 16;

ValueKind kind_of(const CLI::Option& option, const std::string& type) {
  if (option.get_items_expected_max() == 0) return ValueKind::none;
  constexpr std::string_view files[] = {"FILE", "SPEC", "LOG", "BUNDLE", "SPEC|STORE", "STORE|FILE"};
  if (std::find(std::begin(files), std::end(files), type) != std::end(files)) return ValueKind::file;
  return type == "DIR" ? ValueKind::directory : ValueKind::text;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  if (!option.get_lnames().empty()) text.names.push_back("--" + option.get_lnames().front());  // others: earlier names
  const std::string type = option.get_type_name();
  text.kind = kind_of(option, type);
  if (text.kind == ValueKind::text && type.find('|') != std::string::npos) text.words = base::split(type, '|');
  text.required = option.get_required();
  text.repeated = option.get_expected_max() > 1;
  text.summary = option.get_description();
  if (text.kind == ValueKind::none) return text;
  text.value = type.size() > longest_value && !text.words.empty() ? "NAME" : type;
  if (text.names.empty()) {  // a positional argument
    if (text.value != type) text.value = "COMMAND";
    if (text.repeated) text.value += "...";
    return text;
  }
  if (text.value != type) text.remark = fmt::format(": {}", fmt::join(text.words, ", "));
  if (const std::string value = option.get_default_str(); !value.empty() && value != "\"\"")
    text.remark += fmt::format(" (default: {})", value);
  else if (text.repeated)
    text.remark += " (may be repeated)";
  return text;
}

std::string usage_of(const CommandText& command) {
  std::string usage = command.path;
  if (!command.commands.empty()) usage += " COMMAND";
  for (const OptionText& argument : command.arguments)
    usage += argument.required ? " " + argument.value : " [" + argument.value + "]";
  for (const auto& [group, options] : command.groups)
    for (const OptionText& option : options)
      if (option.required) usage += fmt::format(" {} {}", option.names.front(), option.value);
  return usage + " [OPTIONS]";
}

/// Reads a footer: lines that begin with spaces are examples, the others are notes.
void read_footer(const std::string& footer, CommandText& command) {
  for (const std::string_view line : base::split_lines(footer)) {
    if (line.starts_with("  "))
      command.examples.emplace_back(line.substr(2));
    else if (!line.empty() && line != "Example:")
      command.notes.emplace_back(line);
  }
}

}  // namespace

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "xtune" : full_name(*app.get_parent()) + " " + app.get_name();
}

CommandText describe(const CLI::App& app) {
  CommandText command;
  command.name = app.get_name();
  command.path = full_name(app);
  command.summary = app.get_description();
  read_footer(app.get_footer(), command);
  const auto add_options = [&](const std::string& group, const char* shown) {
    std::vector<OptionText> options;
    for (const CLI::Option* const option : app.get_options())
      if (!option->get_positional() && option->get_group() == group) options.push_back(option_text(*option));
    if (!options.empty()) command.groups.emplace_back(shown, std::move(options));
  };
  for (const CLI::Option* const option : app.get_options())
    if (option->get_positional()) command.arguments.push_back(option_text(*option));
  using namespace option_group;
  for (const char* const group : {search, problem, device, direct, job, output, store}) add_options(group, group);
  add_options(CLI::OptionDefaults().get_group(), other);  // its name differs between releases of CLI11
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!each->get_group().empty()) command.commands.push_back(describe(*each));
  command.usage = usage_of(command);
  return command;
}

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const auto*) { return true; });
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* const each : commands_of(app))
    if (each->check_name(name)) return each;  // also by an alias, which is an earlier name
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
    if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
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
  if (dynamic_cast<const CLI::RequiredError*>(&error))
    for (const CLI::Option* const option : command.get_options())
      if (option->get_required() && option->count() == 0)
        return fmt::format("{}{} is missing", option->get_positional() ? "" : option->get_name() + " ",
                           option->get_type_name());
  std::string text = base::printable_lines(error.what());
  RE2::Replace(&text, "^(.*): At Most 1 required but received (.*)$", R"(\1: found \2 times, expected once)");
  RE2::Replace(&text, "^(.*): 1 required (.*) missing$", R"(\1: the value \2 is missing)");
  RE2::Replace(&text, "^(.*) excludes (.*)$", R"(\1: not together with \2)");
  return text;
}

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

namespace {

/// Escapes characters with a meaning in roff. Hyphens stay ASCII hyphens, which users can copy.
std::string roff(const std::string& text) {
  constexpr std::string_view special = "\\-`'^~";
  constexpr const char* escapes[] = {"\\e", "\\-", "\\(ga", "\\(aq", "\\(ha", "\\(ti"};
  std::string escaped;
  for (const char c : text) {
    const std::size_t at = special.find(c);
    escaped += at == std::string_view::npos ? std::string(1, c) : escapes[at];
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

namespace {

const OptionText* find_option(const CommandText& command, const std::string& name) {
  for (const auto& [group, options] : command.groups)
    for (const OptionText& option : options)
      if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  return nullptr;
}

/// Lines of words that begin with a prefix.
struct Offer {
  void add(const std::string& word, const std::string& summary) {
    if (word.starts_with(prefix)) text += word + "\t" + summary + "\n";
  }
  void add_values(const OptionText& option) {
    for (const std::string& word : option.words) add(word, "");
    if (option.kind == ValueKind::file) text += ":file\n";
    if (option.kind == ValueKind::directory) text += ":directory\n";
  }
  const std::string prefix;
  std::string text = {};
};

/// The names and values of the specs among the words, which may be unfinished: "BLOCK=" and, behind that, "BLOCK=64".
Words names_in_specs(const Words& words, bool with_values) {
  Words names;
  const auto add = [&](const spec::TomlNode* table) {
    for (const auto& [name, node] : table ? table->entries : std::vector<spec::TomlEntry>()) {
      const spec::TomlNode* const list = node.find("values");
      if (!with_values) names.push_back(name + "=");
      for (const spec::TomlNode& item : (list ? list : &node)->items)
        if (with_values) names.push_back(name + "=" + to_text(item.value));
    }
  };
  for (const std::string& word : words) try {
      if (!word.ends_with(".toml")) continue;
      const spec::Document document(system::read_file(word), word);
      const spec::TomlNode* const space = document.root().find("space");
      add(document.root().find("problem"));
      add(space ? space->find("params") : nullptr);
    } catch (const Error&) {  // not there yet, or not TOML
    }
  return names;
}

bool takes_names(const OptionText* option) {
  return option && (option->value.starts_with("NAME=VALUE") || option->value == "ARCH");
}

/// Words for an option that takes names; those of a list end before the last comma. A shell that splits at "=" replaces
/// only what follows it.
std::string named_completions(const OptionText& option, const Words& words, std::string typed, bool splits) {
  if (typed.starts_with('=')) typed.erase(0, 1);
  const std::size_t comma = option.value == "NAME=VALUE" ? std::string::npos : typed.rfind(',');
  const std::string before = typed.substr(0, comma == std::string::npos ? 0 : comma + 1);
  const bool has_name = typed.find('=', before.size()) != std::string::npos;
  const std::size_t kept = splits ? typed.rfind('=') + 1 : 0;  // npos + 1 is 0
  std::string lines;
  for (const std::string& each : option.value == "ARCH" ? device::known_archs() : names_in_specs(words, has_name))
    if (const std::string whole = before + each; whole.starts_with(typed)) lines += whole.substr(kept) + "\t\n";
  return lines;
}

/// Where the value of the last option begins, if it is one word that a shell may have split at "="; else 0.
std::size_t last_value(const Words& words) {
  std::size_t at = words.size() - 1;
  while (at > 0 && !words[at - 1].starts_with('-')) --at;
  for (std::size_t i = at; i + 1 < words.size(); ++i)
    if ((words[i] == "=") == (words[i + 1] == "=")) return 0;
  return at;
}

}  // namespace

std::string completions(const CommandText& root, Words words) {
  const std::size_t value = words.empty() ? 0 : last_value(words);
  const Words all = words;
  std::string current = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  if (std::find(words.begin(), words.end(), "--") != words.end()) return {};  // words of another program
  const CommandText* command = &root;
  for (const std::string& word : words)
    for (const CommandText& each : command->commands)
      if (each.name == word) {
        command = &each;
        break;
      }
  if (const OptionText* const named = value > 0 ? find_option(*command, all[value - 1]) : nullptr; takes_names(named)) {
    std::string typed;
    for (std::size_t i = value; i < all.size(); ++i) typed += all[i];
    return named_completions(*named, words, typed, std::find(all.begin(), all.end(), "=") != all.end());
  }
  std::string option = words.empty() ? "" : words.back();
  if (const std::size_t equals = current.find('='); current.starts_with("--") && equals != std::string::npos) {
    option = current.substr(0, equals);
    current = current.substr(equals + 1);
  } else if (current == "=") {
    current.clear();
  } else if (option == "=" && words.size() > 1) {
    option = words[words.size() - 2];
  }
  Offer offer{current};
  const OptionText* const found = find_option(*command, option);
  if (takes_names(found)) return named_completions(*found, words, current, false);
  if (found && found->kind != ValueKind::none) {
    offer.add_values(*found);
  } else if (current.starts_with('-')) {
    for (const auto& [group, options] : command->groups)
      for (const OptionText& each : options)
        for (const std::string& name : each.names) offer.add(name, each.summary);
  } else {
    for (const CommandText& each : command->commands) offer.add(each.name, each.summary);
    if (!command->arguments.empty()) offer.add_values(command->arguments.front());
  }
  return offer.text;
}

}  // namespace xtune::cli

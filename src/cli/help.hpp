// The parser's description of a command as data, for help, manual pages and completion; and xtune's messages for words
// that the parser refuses.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace xtune::cli {

/// The kind of a value, by the option's type name: shells complete paths.
enum class ValueKind { none, text, file, directory };

struct OptionText {
  std::vector<std::string> names;  ///< "--output", "-o"; empty for a positional argument
  std::string value;               ///< as in the help: "N", "FILE", "text|json"; for an argument "SPEC..."
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;  ///< all valid values of a closed set
  std::string summary;
  std::string remark;  ///< after the summary: words that do not fit into value, the default, whether it may be repeated
  bool required = false;
  bool repeated = false;
};

struct CommandText {
  std::string name;  ///< "run"
  std::string path;  ///< "xtune store ls"
  std::string summary;
  std::string usage;
  std::vector<OptionText> arguments;
  std::vector<std::pair<std::string, std::vector<OptionText>>> groups;
  std::vector<CommandText> commands;  ///< hidden ones are skipped
  std::vector<std::string> examples;
  std::vector<std::string> notes;
};

CommandText describe(const CLI::App& app);

/// "xtune", "xtune store": as a user types it.
std::string full_name(const CLI::App& app);

using Words = std::vector<std::string>;

/// The error for a word in the place of a command that is not one: "unknown command 'rnu' (did you mean 'run'?)"; else
/// empty.
std::string unknown_command(const CLI::App& app, const Words& words);

/// The command that the words choose, such as `store ls`; the app itself if they choose none.
const CLI::App& chosen_command(const CLI::App& app, const Words& words);

/// The message for words that could not be parsed: "unknown option '--eval' (did you mean '--evals'?)".
std::string parse_error_text(const CLI::App& app, const Words& words, const CLI::ParseError& error);

/// The help of a command, in lines of up to `width` columns, as far as its words allow.
std::string help_text(const CommandText& command, std::size_t width);
/// The same for a command and all its subcommands.
std::string help_of_all(const CommandText& command, std::size_t width);

/// Makes CLI11 answer --help and --help-all with these texts, in the width of the terminal.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// What a shell offers for the last of the words, of which the first is the program: a line "word<tab>summary" for
/// each, `:file` or
/// `:directory` where the shell completes paths. The words are bash's, which splits at "=", or another shell's, which
/// does not: then values are offered without their option.
std::string completions(const CommandText& root, Words words);

/// The page of a command in the man(7) language. root: xtune itself.
std::string manual_page(const CommandText& command, const CommandText& root);
/// The pages of a command and all its subcommands, with their file names: "xtune-store-ls.1".
std::vector<std::pair<std::string, std::string>> manual_pages(const CommandText& root);

}  // namespace xtune::cli

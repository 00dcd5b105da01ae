// Words as a shell reads them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::system {

/// The text in single quotes, so that a shell reads it as one word.
std::string shell_quoted(std::string_view text);
/// The words as a person would type them: words with anything but letters, digits and @%+=:,./_- are in single quotes.
std::string command_line(const std::vector<std::string>& words);
/// The words of a line as a shell separates them, but without expansion. Operators between words (";", "|", "<") are
/// omitted.
std::vector<std::string> shell_words(std::string_view line);
struct ExpandedWord {
  std::string text;
  bool has_variables = false;  ///< values of variables are in it
};
/// The words that a shell started in `folder` reads, as far as they can be found without running anything. Variables of
/// the environment (PWD is `folder`), "~" and patterns of files are expanded; commands in backquotes and $(...) are
/// split into words, too. A variable without a value stays as written. Names after commands that remove or make files
/// (rm, touch, mkdir, ...) are omitted.
std::vector<ExpandedWord> expanded_shell_words(std::string_view line, const std::filesystem::path& folder);

/// Whether the text has "*", "?" or "[".
bool is_pattern(std::string_view text);
/// The names of files that match a pattern, sorted. A relative pattern starts at `folder`.
std::vector<std::string> files_matching(const std::string& pattern, const std::filesystem::path& folder);

/// The words that follow ">", ">>", ">|" or "&>": the files that the line writes.
std::vector<std::string> shell_outputs(std::string_view line);

}  // namespace xtune::system

// Words as a shell reads them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::base {

/// In single quotes: one word, whatever it holds.
std::string shell_quoted(std::string_view text);
/// As a person would type it: words with anything but letters, digits and @%+=:,./_- in single quotes.
std::string command_line(const std::vector<std::string>& words);
/// The words of a line as a shell cuts them, but with nothing expanded; what stands between words (";", "|", "<") is
/// left out.
std::vector<std::string> shell_words(std::string_view line);
struct ExpandedWord {
  std::string text;
  bool has_variables = false;  ///< values of variables are in it
};
/// The words that a shell started in `folder` reads, as far as can be told without running anything: variables of the
/// environment (PWD is the folder), "~" and patterns of files are expanded, and commands in backquotes and $(...) are
/// cut into words, too. A variable that has no value stays as it is written. Names behind commands that remove or make
/// files (rm, touch, mkdir, ...) are left out.
std::vector<ExpandedWord> expanded_shell_words(std::string_view line, const std::filesystem::path& folder);

/// With "*", "?" or "[".
bool is_pattern(std::string_view text);
/// The names that match a pattern of files, sorted, from `folder` where it is not absolute.
std::vector<std::string> files_matching(const std::string& pattern, const std::filesystem::path& folder);

/// Of these words those that follow ">", ">>", ">|" or "&>": the files that the line writes.
std::vector<std::string> shell_outputs(std::string_view line);

}  // namespace xtune::base

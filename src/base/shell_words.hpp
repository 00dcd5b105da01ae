// Words as a shell reads them.
#pragma once

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
/// Of these words those that follow ">", ">>", ">|" or "&>": the files that the line writes.
std::vector<std::string> shell_outputs(std::string_view line);

}  // namespace xtune::base

// Quotes where they are needed.
#include "base/shell_words.hpp"

namespace xtune {

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string command_line(const std::vector<std::string>& words) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += !word.empty() && word.find_first_not_of(plain) == std::string::npos ? word : shell_quoted(word);
  }
  return line;
}

}  // namespace xtune

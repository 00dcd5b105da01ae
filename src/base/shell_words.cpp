// Words between quotes, and words out of them.
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

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (quote != '\'' && c == '\\' && i + 1 < line.size())
      words.back() += line[++i];
    else if (quote == 0 && std::string_view(" \t\n;&|()<>").find(c) != std::string_view::npos)
      words.emplace_back();
    else
      words.back() += c;
  }
  std::erase(words, "");
  return words;
}

}  // namespace xtune

// Words between quotes, and words out of them.
#include "base/shell_words.hpp"

namespace xtune::base {

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

namespace {

/// Between ">" and the name.
bool is_within_redirection(char c) { return c == ' ' || c == '\t' || c == '&' || c == '|'; }

struct ShellWord {
  std::string text;
  bool written = false;  ///< it follows ">"
};

std::vector<ShellWord> cut(std::string_view line) {
  std::vector<ShellWord> words(1);
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (quote != '\'' && c == '\\' && i + 1 < line.size())
      words.back().text += line[++i];
    else if (quote == 0 && std::string_view(" \t\n;&|()<>").find(c) != std::string_view::npos)
      words.push_back(
          {{}, c == '>' || (words.back().written && words.back().text.empty() && is_within_redirection(c))});
    else
      words.back().text += c;
  }
  std::erase_if(words, [](const ShellWord& word) { return word.text.empty(); });
  return words;
}

}  // namespace

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  for (ShellWord& word : cut(line)) words.push_back(std::move(word.text));
  return words;
}

std::vector<std::string> shell_outputs(std::string_view line) {
  std::vector<std::string> words;
  for (ShellWord& word : cut(line))
    if (word.written) words.push_back(std::move(word.text));
  return words;
}

}  // namespace xtune::base

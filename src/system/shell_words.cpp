// Words between quotes, and quoting of words.
#include "system/shell_words.hpp"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace xtune::system {

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

namespace fs = std::filesystem;

constexpr std::string_view separators = " \t\n;&|()<>", pattern_characters = "*?[";

/// Whether the character may be between ">" and the name.
bool is_within_redirection(char c) { return c == ' ' || c == '\t' || c == '&' || c == '|'; }

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether the command names files in order to remove or create them.
bool reads_no_files(std::string_view command) {
  constexpr std::string_view names[] = {"rm", "rmdir", "unlink", "touch", "mkdir"};
  return std::find(std::begin(names), std::end(names), command) != std::end(names);
}

struct ShellWord {
  std::string text = {};
  std::string pattern = {};    ///< the text, with a backslash before each quoted character
  bool written = false;        ///< the word follows ">"
  bool first = false;          ///< the word begins a command
  bool has_pattern = false;    ///< "*", "?" or "[" occurs outside of quotes
  bool has_variables = false;  ///< some variables were replaced
};

enum class Expansion { none, variables };

class LineCutter {
 public:
  LineCutter(std::string_view line, Expansion expansion, const fs::path& folder)
      : line_(line), expands_(expansion == Expansion::variables), folder_(folder) {
    words_.push_back({.first = true});
    while (at_ < line_.size()) step();
    std::erase_if(words_, [](const ShellWord& word) { return word.text.empty(); });
  }
  std::vector<ShellWord> words() { return std::move(words_); }

 private:
  void step() {
    const char c = line_[at_++];
    if (expands_ && quote_ != '\'' && (c == '`' || c == '$')) return c == '`' ? turn_backquote() : take_variable();
    if (quote_ != 0 && c == quote_)
      quote_ = 0;
    else if (quote_ == 0 && (c == '\'' || c == '"'))
      quote_ = c;
    else if (quote_ != '\'' && c == '\\' && at_ < line_.size())
      put(line_[at_++], true);
    else if (quote_ == 0 && separators.find(c) != separators.npos)
      separate(c);
    else if (expands_ && quote_ == 0 && c == '~' && words_.back().text.empty() && begins_home())
      put_value(std::getenv("HOME"));
    else
      put(c, quote_ != 0);
  }

  void put(char c, bool quoted) {
    ShellWord& word = words_.back();
    const bool special = pattern_characters.find(c) != pattern_characters.npos || c == '\\';
    if (quoted && special) word.pattern += '\\';
    if (!quoted && special) word.has_pattern = true;
    word.text += c;
    word.pattern += c;
  }

  void put_value(const char* value) {
    words_.back().has_variables = true;
    for (const char* c = value; c && *c; ++c) put(*c, true);
  }

  void separate(char c) {
    const bool goes_on = words_.back().written && words_.back().text.empty() && is_within_redirection(c);
    const bool ends_command = c != ' ' && c != '\t' && c != '<' && c != '>';
    const bool first = (words_.back().first && words_.back().text.empty()) || (ends_command && !goes_on);
    words_.push_back({.written = c == '>' || goes_on, .first = first});
    if (c == '(') quotes_.push_back(0);
    if (c == ')' && !quotes_.empty()) leave();
  }

  /// The output of a command within the line is unknown; its own words count as words.
  void enter() {
    quotes_.push_back(std::exchange(quote_, '\0'));
    words_.push_back({.first = true});
  }
  void leave() {
    quote_ = quotes_.back();
    quotes_.pop_back();
  }
  void turn_backquote() {
    if (!std::exchange(in_backquotes_, !in_backquotes_)) return enter();
    if (!quotes_.empty()) leave();
    words_.emplace_back();
  }

  bool begins_home() const {
    return at_ == line_.size() || separators.find(line_[at_]) != separators.npos || line_[at_] == '/';
  }

  /// After a "$". A variable without a value may be set by the line itself: it is kept as written.
  void take_variable() {
    if (at_ < line_.size() && line_[at_] == '(') {
      ++at_;
      return enter();
    }
    const bool braces = at_ < line_.size() && line_[at_] == '{';
    const std::size_t begin = at_ + (braces ? 1 : 0);
    std::size_t end = begin;
    while (end < line_.size() && is_of_name(line_[end])) ++end;
    const std::size_t close = braces ? line_.find('}', end) : end;
    const std::string name(line_.substr(begin, end - begin));
    if (name.empty() || close == line_.npos) return put('$', true);
    const std::string place = folder_.string();
    const char* const value = name == "PWD" ? place.c_str() : std::getenv(name.c_str());
    const std::string_view rest = line_.substr(end, close - end);
    if (value && *value)
      put_value(value);
    else if (rest.starts_with(":-"))
      put_value(std::string(rest.substr(2)).c_str());
    else
      return put('$', true);
    at_ = close + (braces ? 1 : 0);
  }

  const std::string_view line_;
  const bool expands_;
  const fs::path& folder_;
  std::vector<ShellWord> words_;
  std::size_t at_ = 0;
  char quote_ = 0;
  std::vector<char> quotes_;  ///< around the commands within the line, the outermost first
  bool in_backquotes_ = false;
};

std::vector<ShellWord> cut(std::string_view line) { return LineCutter(line, Expansion::none, {}).words(); }

}  // namespace

std::vector<std::string> files_matching(const std::string& pattern, const fs::path& folder) {
  std::string whole = pattern, prefix;
  if (!pattern.starts_with('/')) {
    for (const char c : folder.string()) {
      if (pattern_characters.find(c) != pattern_characters.npos || c == '\\') prefix += '\\';
      prefix += c;
    }
    whole = prefix + "/" + pattern;
  }
  glob_t found{};
  std::vector<std::string> names;
  if (::glob(whole.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string name = found.gl_pathv[i];
      names.push_back(prefix.empty() ? name : name.substr(std::min(folder.string().size() + 1, name.size())));
    }
  ::globfree(&found);
  return names;
}

bool is_pattern(std::string_view text) { return text.find_first_of(pattern_characters) != text.npos; }

std::vector<ExpandedWord> expanded_shell_words(std::string_view line, const fs::path& folder) {
  std::vector<ExpandedWord> words;
  bool reads = true;
  for (ShellWord& word : LineCutter(line, Expansion::variables, folder).words()) {
    if (word.first) reads = !reads_no_files(word.text);
    if (!reads && !word.first) continue;
    if (word.has_pattern)
      for (std::string& name : files_matching(word.pattern, folder))
        words.push_back({std::move(name), word.has_variables});
    else
      words.push_back({std::move(word.text), word.has_variables});
  }
  return words;
}

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

}  // namespace xtune::system

// A position in C++ source text, with only as much lexing as needed to move on: splices, comments, words, literals.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace xtune::build {

/// Compilers ignore the mark at the start of a file.
inline std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

class SourceCursor {
 public:
  explicit SourceCursor(std::string_view source) : source_(without_byte_order_mark(source)) {}

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

  bool at_end() const { return at_ >= source_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  // A backslash before the end of a line joins it with the next one.
  bool skip_splice() {
    if (peek() != '\\') return false;
    const std::size_t length = peek(1) == '\n' ? 2 : peek(1) == '\r' && peek(2) == '\n' ? 3 : 0;
    at_ += length;
    return length > 0;
  }

  bool skip_comment() {
    if (peek() != '/') return false;
    if (peek(1) == '*') {
      const auto end = source_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
      return true;
    }
    if (peek(1) != '/') return false;
    while (at_ < source_.size() && peek() != '\n')
      if (!skip_splice()) ++at_;
    return true;
  }

  bool take_hash() {
    const std::size_t length = peek() == '#' ? 1 : peek() == '%' && peek(1) == ':' ? 2 : 0;
    at_ += length;
    return length > 0;
  }

  void skip_blanks() {
    while (at_ < source_.size() && (is_blank(peek()) ? (++at_, true) : skip_splice() || skip_comment())) {
    }
  }

  std::string word() {
    std::string text;
    while (at_ < source_.size())
      if (is_word(peek()))
        text += source_[at_++];
      else if (!skip_splice())
        break;
    return text;
  }

  void skip_quoted(char quote) {
    ++at_;
    while (at_ < source_.size() && peek() != '\n') {
      if (skip_splice()) continue;
      const char c = source_[at_++];
      if (c == quote) return;
      if (c == '\\' && at_ < source_.size()) ++at_;
    }
  }

  void skip_raw_string() {
    const auto open = source_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) {  // a delimiter has at most 16 characters
      ++at_;
      return;
    }
    const std::string close = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const auto end = source_.find(close, open + 1);
    at_ = end == std::string_view::npos ? source_.size() : end + close.size();
  }

  /// The line of this place, from 1.
  std::size_t line() {
    const auto at = [&](std::size_t place) { return source_.begin() + static_cast<std::ptrdiff_t>(place); };
    line_ += static_cast<std::size_t>(std::count(at(counted_), at(at_), '\n'));
    counted_ = at_;
    return line_;
  }

  /// What follows on this line, spliced and without comments. Stays where it is.
  std::string rest_of_line() {
    const std::size_t begin = at_;
    std::string text;
    while (!at_end() && peek() != '\n') {
      if (skip_splice()) continue;
      if (peek() == '"' || peek() == '\'') {
        const std::size_t literal = at_;
        skip_quoted(peek());
        text += source_.substr(literal, at_ - literal);
      } else if (skip_comment()) {
        text += ' ';
      } else {
        text += source_[at_++];
      }
    }
    at_ = begin;
    return text;
  }

 protected:
  std::string_view source_;
  std::size_t at_ = 0;

 private:
  std::size_t line_ = 1, counted_ = 0;  ///< the line of a place, and that place: the next is counted from there
};

}  // namespace xtune::build

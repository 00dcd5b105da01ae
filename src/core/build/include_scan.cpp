// One pass over the source with just enough of the lexer to know what is code.
#include "core/build/include_scan.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace xtune {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source) {}

  std::vector<IncludeDirective> run() {
    bool line_start = true;
    while (at_ < source_.size()) {
      if (skip_splice() || skip_comment()) continue;
      const char c = source_[at_];
      if (c == '\n') {
        line_start = true;
        ++at_;
      } else if (is_blank(c)) {
        ++at_;
      } else if (line_start && take_hash()) {
        line_start = false;
        directive();
      } else {
        line_start = false;
        skip_token();
      }
    }
    return std::move(found_);
  }

 private:
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

  void directive() {
    skip_blanks();
    const std::string name = word();
    if (name != "include" && name != "include_next" && name != "import") return;
    skip_blanks();
    const char close = peek() == '"' ? '"' : peek() == '<' ? '>' : '\0';
    if (!close) return;
    ++at_;
    std::string file;
    while (at_ < source_.size() && peek() != close && peek() != '\n')
      if (!skip_splice()) file += source_[at_++];
    if (peek() != close || file.empty()) return;
    ++at_;
    found_.push_back({std::move(file), close == '"'});
  }

  void skip_token() {
    if (is_word(peek())) {
      const bool number = std::isdigit(static_cast<unsigned char>(peek()));
      std::string text = word();
      // 1'000'000: the quote inside a number separates digits.
      while (number && peek() == '\'' && is_word(peek(1))) {
        ++at_;
        word();
      }
      if (peek() == '"' && (text == "R" || text == "LR" || text == "uR" || text == "UR" || text == "u8R"))
        skip_raw_string();
    } else if (peek() == '"' || peek() == '\'') {
      skip_quoted(source_[at_]);
    } else {
      ++at_;
    }
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

  std::string_view source_;
  std::size_t at_ = 0;
  std::vector<IncludeDirective> found_;
};

}  // namespace

std::vector<IncludeDirective> scan_includes(std::string_view source) { return Scanner(source).run(); }

}  // namespace xtune

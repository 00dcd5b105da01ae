// A lexer with only as much C++ as is needed to find keywords and statements.
#include "backends/host/preprocessed.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace xtune::host {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        line_start_ = true;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (c == '#' && line_start_) {
        directive();
      } else if (system_) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        line_start_ = false;
        token();
      }
    }
    return std::move(tokens_);
  }

 private:
  void add(Token::Kind kind, std::size_t end) {
    tokens_.push_back({kind, text_.substr(at_, end - at_)});
    at_ = end;
  }

  void directive() {
    const auto end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    auto digit = line.find_first_not_of(' ', 1);
    const bool marker = digit != std::string_view::npos && std::isdigit(static_cast<unsigned char>(line[digit]));
    if (marker) {
      const auto name_end = line.rfind('"');
      system_ = name_end != std::string_view::npos && line.find(" 3", name_end) != std::string_view::npos;
      at_ = end;
    } else if (system_) {
      at_ = end;
    } else {
      add(Token::directive, end);
    }
  }

  void token() {
    const char c = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) {
      std::size_t end = at_ + 1;
      while (end < text_.size()) {
        const char d = text_[end], before = text_[end - 1];
        const bool sign = (d == '+' || d == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
        const bool separator = d == '\'' && end + 1 < text_.size() && is_word(text_[end + 1]);
        if (!is_word(d) && d != '.' && !sign && !separator) break;
        ++end;
      }
      add(Token::number, end);
    } else if (is_word(c)) {
      std::size_t end = at_;
      while (end < text_.size() && is_word(text_[end])) ++end;
      if (end < text_.size() && text_[end] == '"' && text_[end - 1] == 'R') return raw_string(end);
      add(Token::identifier, end);
    } else if (c == '"' || c == '\'') {
      quoted(c);
    } else {
      add(Token::punctuation, at_ + 1);
    }
  }

  void quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    add(Token::literal, std::min(end + 1, text_.size()));
  }

  void raw_string(std::size_t quote) {
    const auto open = text_.find('(', quote);
    if (open == std::string_view::npos) return add(Token::literal, text_.size());
    std::string close = ")";
    close += text_.substr(quote + 1, open - quote - 1);
    close += '"';
    const auto end = text_.find(close, open);
    add(Token::literal, end == std::string_view::npos ? text_.size() : end + close.size());
  }

  char peek(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::string_view text_;
  std::size_t at_ = 0;
  bool line_start_ = true, system_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> user_tokens(std::string_view preprocessed) { return Lexer(preprocessed).run(); }

}  // namespace xtune::host

// Tokens of the expression language: Python's numbers, strings and operators, and dotted names.
#include "core/space/lexer.hpp"

#include <charconv>
#include <limits>

namespace xtune::space::expr {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view symbols[] = {"**", "//", "==", "!=", "<=", ">=", "+", "-", "*",
                                        "/",  "%",  "<",  ">",  "(",  ")",  "[", "]", ","};

// Suggests this language's operator for one that is common in other languages.
std::string unknown_character(std::string_view rest) {
  if (rest.substr(0, 2) == "&&") return "'&&' is written 'and' here";
  if (rest.substr(0, 2) == "||") return "'||' is written 'or' here";
  if (rest[0] == '?') return "'C ? A : B' is written 'A if C else B' here";
  if (rest[0] == '!') return "'!' is written 'not' here";
  if (rest[0] == '=') return "'=' does not compare, write '=='";
  const auto byte = static_cast<unsigned char>(rest[0]);
  if (byte >= 0x20 && byte < 0x7F) return std::string("unexpected character '") + rest[0] + "'";
  constexpr char digits[] = "0123456789abcdef";
  return std::string("unexpected byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

int base_of(std::string_view prefix) {
  if (prefix == "0x" || prefix == "0X") return 16;
  if (prefix == "0b" || prefix == "0B") return 2;
  if (prefix == "0o" || prefix == "0O") return 8;
  return 10;
}

// Python allows single underscores between digits.
std::string without_underscores(std::string_view word, std::size_t column) {
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '_')
      digits += word[i];
    else if (i + 1 == word.size() || word[i + 1] == '_' || i == 0)
      throw ExpressionError("misplaced '_' in a number", column + i, std::string(word));
  }
  return digits;
}

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) { advance(); }

Token Lexer::next() {
  Token token = std::move(token_);
  advance();
  return token;
}

void Lexer::advance() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  token_ = Token{};
  token_.column = position_;
  if (position_ == text_.size()) return;
  const char c = text_[position_];
  if (is_digit(c) || (c == '.' && position_ + 1 < text_.size() && is_digit(text_[position_ + 1]))) return read_number();
  if (c == '"' || c == '\'') return read_text();
  if (is_letter(c)) {
    std::size_t end = position_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) ||
                                  (text_[end] == '.' && end + 1 < text_.size() && is_letter(text_[end + 1]))))
      ++end;
    token_.kind = Token::Kind::name;
    token_.word = text_.substr(position_, end - position_);
    position_ = end;
    return;
  }
  for (const std::string_view symbol : symbols)
    if (text_.substr(position_, symbol.size()) == symbol) {
      token_.kind = Token::Kind::symbol;
      token_.word = text_.substr(position_, symbol.size());
      position_ += symbol.size();
      return;
    }
  throw ExpressionError(unknown_character(text_.substr(position_)), position_, std::string(1, c));
}

void Lexer::read_number() {
  const std::size_t start = position_;
  const int base = base_of(text_.substr(start, 2));
  std::size_t end = base == 10 ? start : start + 2;
  bool floating = false;
  for (; end < text_.size(); ++end) {
    const char c = text_[end];
    const bool exponent_sign = (c == '+' || c == '-') && base == 10 && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
    if (!is_digit(c) && !is_letter(c) && c != '.' && !(exponent_sign && end > start)) break;
    if (base == 10 && (c == '.' || c == 'e' || c == 'E')) floating = true;
  }
  token_.kind = Token::Kind::number;
  token_.word = text_.substr(start, end - start);
  position_ = end;
  const std::string word(token_.word);
  const std::string digits = without_underscores(base == 10 ? token_.word : token_.word.substr(2), start);
  const char* const last = digits.data() + digits.size();
  if (floating) {
    double value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), last, value);
    if (stop != last || error == std::errc::invalid_argument)
      throw ExpressionError("bad number '" + word + "'", start, word);
    if (error == std::errc::result_out_of_range)
      throw ExpressionError("the number '" + word + "' is out of a float's range", start, word);
    token_.value = value;
    return;
  }
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), last, value, base);
  constexpr auto greatest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (stop != last || error == std::errc::invalid_argument)
    throw ExpressionError("bad number '" + word + "'", start, word);
  if (base == 10 && digits.size() > 1 && digits[0] == '0' && value != 0)
    throw ExpressionError("a decimal number has no leading zeros: '" + word + "'", start, word);
  if (error == std::errc::result_out_of_range || value > greatest + 1)
    throw ExpressionError("the number '" + word + "' does not fit a 64-bit integer", start, word);
  token_.is_lowest_integer = value == greatest + 1;
  token_.value = token_.is_lowest_integer ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(value);
}

void Lexer::read_text() {
  const char quote = text_[position_];
  const std::size_t start = position_++;
  std::string content;
  for (;; ++position_) {
    if (position_ >= text_.size() || text_[position_] == '\n') throw ExpressionError("the string is not closed", start);
    char c = text_[position_];
    if (c == quote) break;
    if (c == '\\') {
      if (++position_ >= text_.size()) throw ExpressionError("the string is not closed", start);
      c = text_[position_];
      if (c == 'n')
        c = '\n';
      else if (c == 't')
        c = '\t';
      else if (c != '\\' && c != '\'' && c != '"')
        throw ExpressionError(std::string("unknown escape '\\") + c + "' in a string", position_ - 1);
    }
    content += c;
  }
  ++position_;
  token_.kind = Token::Kind::text;
  token_.word = text_.substr(start, position_ - start);
  token_.value = std::move(content);
}

}  // namespace xtune::space::expr

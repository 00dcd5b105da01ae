// Splits the text of an expression into tokens.
#pragma once

#include <string>
#include <string_view>

#include "core/space/expression.hpp"

namespace xtune::space::expr {

struct Token {
  enum class Kind { end, number, text, name, symbol };
  Kind kind = Kind::end;
  std::size_t column = 0;          ///< byte offset
  std::string_view word;           ///< as written; keywords are names
  Value value = false;             ///< of a literal
  bool is_lowest_integer = false;  ///< 9223372036854775808, which is valid only after a minus sign
};

/// Reads the text one token ahead. All functions throw ExpressionError at the offending character.
class Lexer {
 public:
  explicit Lexer(std::string_view text);
  const Token& peek() const noexcept { return token_; }
  Token next();

 private:
  void advance();
  void read_number();
  void read_text();

  std::string_view text_;
  std::size_t position_ = 0;
  Token token_;
};

}  // namespace xtune::space::expr

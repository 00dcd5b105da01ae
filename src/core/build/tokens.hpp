// A source as tokens and preprocessor directives.
#pragma once

#include <cctype>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::build {

/// Compilers ignore the mark at the start of a file.
inline std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// Compilers take "$" and letters beyond ASCII in names.
inline bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
inline bool is_blank_character(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

struct Token {
  enum class Kind { word, number, literal, mark };
  Kind kind = Kind::mark;
  std::string text;                ///< of a literal, its quotes only
  std::size_t line = 0;            ///< from 1
  bool alternative = false;        ///< in the #else or #elif of a condition, whose first branch is read too
  std::size_t begin = 0, end = 0;  ///< bytes of the source, without a byte order mark

  bool is(std::string_view other) const { return text == other; }
  bool is_word() const { return kind == Kind::word; }
};
using Tokens = std::vector<Token>;

/// A line that begins with #.
struct Directive {
  std::string name;                ///< "define", "if", ...
  std::string text;                ///< what follows, spliced and without comments
  std::size_t line = 0;            ///< from 1
  std::string guard;               ///< "ifndef BLOCK": the innermost condition around it; empty: none
  bool conditional = false;        ///< within any condition
  std::size_t begin = 0, end = 0;  ///< bytes of the source from the # to the newline
};

struct TokenizedSource {
  Tokens tokens;
  std::vector<Directive> directives;
};

/// Comments and what stands behind #if 0 are omitted. "::", "->", and comparisons and assignments of two characters are
/// one token each; ">>" is two, as templates end with it. Any bytes are accepted.
TokenizedSource tokenize(std::string_view source);
/// The same one after the other, with what stands behind #if 0.
void read_tokens(std::string_view source, const std::function<void(Token&&)>& use_token,
                 const std::function<void(Directive&&)>& use_directive);
/// Of a directive's text.
Tokens tokens_of(std::string_view text);

/// Where the bracket at tokens[open] closes, as ( [ { or <; tokens.size() if it does not.
std::size_t closing(const Tokens& tokens, std::size_t open);
/// tokens[begin, end), as far as there are tokens.
Tokens part(const Tokens& tokens, std::size_t begin, std::size_t end);
/// The parts between commas outside of all brackets; none of an empty text.
std::vector<Tokens> split_arguments(const Tokens& tokens);
/// As source text, with blanks between words only.
std::string text_of(const Tokens& tokens);

}  // namespace xtune::build

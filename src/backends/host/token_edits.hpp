// Edits to a text, addressed by its tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/host/preprocessed.hpp"

namespace xtune::host {

/// The user's tokens of a preprocessed text, and changes to make. Text between changed tokens (blanks, newlines, line
/// markers) is kept. The text is not owned. An index beyond the last token is an empty token.
class TokenEdits {
 public:
  explicit TokenEdits(std::string_view text) : text_(text), tokens_(user_tokens(text)) {}

  std::size_t size() const noexcept { return tokens_.size(); }
  const Token& operator[](std::size_t i) const { return tokens_[i]; }
  bool is(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  bool is_identifier(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == Token::identifier; }
  /// The bracket that closes the one at i, or the last token.
  std::size_t closing(std::size_t i) const;
  /// The ( that the ) at i closes, or 0.
  std::size_t opening(std::size_t i) const;
  /// The > that closes the < at i, or `end`.
  std::size_t past_template(std::size_t i, std::size_t end) const;
  /// The last token of `alignas(16)` or `__attribute__((..))` at i; i itself if no bracket follows.
  std::size_t end_of_call(std::size_t i) const { return is(i + 1, "(") ? closing(i + 1) : i; }

  void replace(std::size_t i, std::string by);
  void insert_before(std::size_t i, std::string what);
  void erase(std::size_t first, std::size_t last);
  /// The text with all changes made.
  std::string apply();

 private:
  struct Edit {
    std::size_t offset, length;
    std::string replacement;
  };
  std::size_t offset_of(std::size_t i) const { return static_cast<std::size_t>(tokens_[i].text.data() - text_.data()); }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<Edit> edits_;
};

}  // namespace xtune::host

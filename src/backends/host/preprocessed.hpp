// Reads preprocessed C++: the tokens that come from the user's own files.
#pragma once

#include <string_view>
#include <vector>

namespace xtune::host {

struct Token {
  enum Kind { identifier, number, literal, punctuation, directive } kind;
  std::string_view text;  ///< a view into what was read
};

/// Tokens outside of system headers, by the line markers that g++ -E and clang++ -E leave ("# 12 "file" 3": 3 marks a
/// system header). Punctuation comes one character at a time; a directive (#pragma) is one token, without its newline.
/// Any text is taken: what is no C++ is left to the compiler to refuse.
std::vector<Token> user_tokens(std::string_view preprocessed);

}  // namespace xtune::host

// Reads preprocessed C++: the tokens from the user's own files.
#pragma once

#include <string_view>
#include <vector>

namespace xtune::host {

struct Token {
  enum Kind { identifier, number, literal, punctuation, directive } kind;
  std::string_view text;  ///< a view into the input
};

/// Tokens outside of system headers, by the line markers that g++ -E and clang++ -E write ("# 12 "file" 3": 3 marks a
/// system header). Each punctuation character is a token; a directive (#pragma) is one token, without its newline.
/// Accepts any text: errors are left to the compiler.
std::vector<Token> user_tokens(std::string_view preprocessed);

}  // namespace xtune::host

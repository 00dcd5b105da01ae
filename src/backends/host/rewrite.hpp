// Turns preprocessed kernel text into C++ for a CPU, for changes that macros cannot make.
#pragma once

#include <string>
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

struct RewriteOptions {
  bool sanitize = false;  ///< one thread runs all blocks, and each shared array is a separate heap block
  bool gcc = true;        ///< "#pragma unroll" becomes GCC's
};

struct Rewritten {
  std::string text;          ///< with the same line numbers as before
  bool uses_fibers = false;  ///< a thread may wait for others of its block
  bool uses_hopper = false;  ///< it includes <xtune/hopper.cuh>
};

/// `extern __shared__ T name[];` becomes a pointer to the block's dynamic shared memory; another `__shared__` variable
/// a static one of the operating-system thread, which runs one block at a time. `__noinline__` becomes an attribute.
Rewritten rewrite(std::string_view preprocessed, const RewriteOptions& options);

/// Whether the user's files mention this identifier.
bool mentions(std::string_view preprocessed, std::string_view identifier);

}  // namespace xtune::host

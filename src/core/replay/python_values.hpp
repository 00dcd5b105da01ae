// The Python literals that lists of parameters are written with: lists, ranges, comprehensions and quoted text.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::replay {

/// Python that is more than such a literal. The message follows "NAME: ".
struct PythonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Python whose values cannot be used: too many, nested too deeply, not finite, or more than 64 bits. Unlike text with
/// another PythonError, it cannot be meant as a word.
struct PythonValueError : PythonError {
  using PythonError::PythonError;
};

/// The values of one literal, lists of lists flattened: an expression (core/space/expression.hpp), 'text', [a, b],
/// (a, b), range(...), list(...), tuple(...) and [A for NAME in B if C]. True and False are the words that Python
/// prints. Empty: the text is a word and no Python, such as 64x64 or bfloat16. Throws PythonError for what looks like
/// Python and is none of these, and for arithmetic whose result is not a finite number of 64 bits, such as 2**1000.
std::optional<std::vector<Value>> python_values(std::string_view text);

/// The items of "[a, b]" or "a, b", each as written.
std::vector<std::string> python_items(std::string_view text);

}  // namespace xtune::replay

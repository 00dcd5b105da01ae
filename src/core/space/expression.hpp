// The expression language of specs: Python-like, over named values.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/space/value.hpp"

namespace xtune::space {

/// Thrown by parse and evaluate. column counts from 0 in the expression's text.
struct ExpressionError : std::runtime_error {
  ExpressionError(const std::string& message, std::size_t column_, std::string word_ = {})
      : std::runtime_error(message), column(column_), word(std::move(word_)) {}
  std::size_t column;
  std::string word;  ///< the offending word, or empty
};

/// Finds the value of a name ("M", "BLOCK_M", "device.warp_size"), or nullptr.
using Lookup = std::function<const Value*(std::string_view name)>;

/// A parsed expression; immutable, cheap to copy, safe to share between threads.
///
/// Grammar: `or`, `and`, `not`, chained comparisons (== != < <= > >=), `in [..]` / `not in (..)`, also of tuples,
/// | ^ & << >> + - * / // % **, unary - + ~, `A if C else B`, parentheses, integer, float, boolean (true True false
/// False) and string literals, names with dots, and the functions min max abs ceildiv pow2 (next power of two) log2 (of
/// an integer power of two, exact) int float device.max_active_clusters (which uses facts of the device as names).
/// Precedence and semantics are Python's: `/` is true division, `//` floors, `%` takes the divisor's sign, comparisons
/// chain, `and`/`or` short-circuit. Integers are exact from -2^63 to 2^64; the value of an expression that is above
/// 2^63 - 1 is a text, its digits. An overflow, a division by zero or a type mismatch throws ExpressionError.
class Expression {
 public:
  /// Names of derived expressions, and their expressions.
  using Derived = std::map<std::string, Expression, std::less<>>;
  /// derived: may be null. The expression of such a name is computed in place of the name.
  static Expression parse(std::string_view text, const Derived* derived = nullptr);

  Value evaluate(const Lookup& lookup) const;
  const std::set<std::string, std::less<>>& names() const;
  /// 0-based column of the first use of a name in the text.
  std::size_t column_of(std::string_view name) const;
  const std::string& text() const;

  struct Code;  // defined in code.hpp, for this directory only
  const Code& code() const noexcept { return *code_; }

 private:
  explicit Expression(std::shared_ptr<const Code> code);
  std::shared_ptr<const Code> code_;
};

/// Python's truth value: zero and the empty string are false.
bool truth(const Value& value) noexcept;

/// Whether the value is a number for any values of the names: sums, products, calls of functions. False also if it only
/// may be a number: a name, and the results of `and` and `or`.
bool is_always_a_number(const Expression& expression) noexcept;

}  // namespace xtune::space

// The type of an expression's result, as far as its text determines it.
#pragma once

#include "core/space/expression.hpp"

namespace xtune::space {

/// Whether the value is a number for any values of the names: sums, products, calls of functions. False also if it only
/// may be a number: a name, and the results of `and` and `or`.
bool is_always_a_number(const Expression& expression) noexcept;

}  // namespace xtune::space

// What an expression is for, as far as its text says.
#pragma once

#include "core/space/expression.hpp"

namespace xtune::space {

/// Whether the value is a number whatever the names stand for: sums, products, calls of functions. False also where it
/// may be one: a name, and what `and` and `or` choose from.
bool is_always_a_number(const Expression& expression) noexcept;

}  // namespace xtune::space

// Bounds of an expression whose parameters are known only by their minimum and maximum.
#pragma once

#include <span>

#include "core/space/code.hpp"

namespace xtune::space::expr {

/// If known is true, all values of a number are in [low, high], and computing them cannot fail; else the rest has no
/// meaning.
struct Bounds {
  bool known = false;
  bool whole = false;  ///< integers that are represented exactly
  double low = 0, high = 0;
};

/// `unknown`: the computation may also fail. The other three exclude that.
enum class Truth : std::uint8_t { unknown, no, yes, either };

Bounds bounds_of(const Scalar& scalar) noexcept;
/// The smallest range that holds both.
Bounds unite(const Bounds& left, const Bounds& right) noexcept;
/// The bounds of an operation over operands within their bounds; instruction as in Expression::Code, but not a name or
/// jump.
Bounds apply(const Instruction& instruction, std::span<const Bounds> operands) noexcept;
/// The result of a comparison.
Truth apply(Relation relation, const Bounds& left, const Bounds& right) noexcept;
Truth truth(const Bounds& bounds) noexcept;
Bounds bounds_of(Truth truth) noexcept;

}  // namespace xtune::space::expr

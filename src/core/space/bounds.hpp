// What can be said of an expression whose parameters are known only by their smallest and largest value.
#pragma once

#include <span>

#include "core/space/code.hpp"

namespace xtune::space::expr {

/// All values of a number lie in [low, high], and computing them cannot fail; else known is false and says nothing.
struct Bounds {
  bool known = false;
  bool whole = false;  ///< integers, exactly representable
  double low = 0, high = 0;
};

/// `unknown`: it may also fail. The other three exclude that.
enum class Truth : std::uint8_t { unknown, no, yes, either };

Bounds bounds_of(const Scalar& scalar) noexcept;
/// The smallest range that holds both.
Bounds unite(const Bounds& left, const Bounds& right) noexcept;
/// Of an operation over operands within their bounds; instruction as in Expression::Code, neither name nor jump.
Bounds apply(const Instruction& instruction, std::span<const Bounds> operands) noexcept;
/// Of a comparison.
Truth apply(Relation relation, const Bounds& left, const Bounds& right) noexcept;
Truth truth(const Bounds& bounds) noexcept;
Bounds bounds_of(Truth truth) noexcept;

}  // namespace xtune::space::expr

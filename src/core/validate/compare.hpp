// Compares an output with its reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/spec/dtype.hpp"

namespace xtune {

struct Tolerance {
  double rtol = 0, atol = 0;
  double max_mismatched_ratio = 0;  ///< fails when mismatches > floor(count * ratio)
};
/// What rtol and atol are when the spec gives none; rtol and atol are equal. Integers and booleans are exact. Floats
/// leave room for a sum of some thousand terms made in another order: a few hundred units of the type's last place (f64
/// 1e-7, f32 1e-4) where kernels accumulate in the type itself, and a few units where they accumulate wider and round
/// once (f16 1e-2, bf16 2e-2, f8e4m3 0.125, f8e5m2 0.25: one step of the type).
Tolerance default_tolerance(DType type);

/// The result of one comparison, for one output argument.
struct Comparison {
  std::string output;  ///< the argument's name
  bool passed = true;
  std::uint64_t count = 0, mismatched = 0, nans = 0;  ///< nans: where the reference has none
  std::uint64_t unwritten = 0;                   ///< elements that still hold the poison where the reference does not
  std::optional<std::uint64_t> first_index;      ///< flat, of the first mismatch
  std::vector<std::uint64_t> first_coordinates;  ///< in the argument's shape
  double actual = 0, expected = 0;               ///< at first_index; may be NaN or infinite
  double max_abs_error = 0;                      ///< over finite pairs
  double max_rel_error = 0;                      ///< over finite pairs whose expected value is not 0
  double allowed_ratio = 0;                      ///< the tolerance's max_mismatched_ratio
  /// "C: 12 of 4096 elements differ (0.29 %, 0 allowed); first at [3, 17]: got nan, expected 1.5; max abs error ...,
  /// rel ..."
  std::string text() const;
};

/// How many of count elements may differ: floor(count * ratio), where a product that misses an integer by rounding
/// alone counts as it.
std::uint64_t allowed_mismatches(std::uint64_t count, double ratio) noexcept;

/// |actual - expected| <= atol + rtol * |expected| element by element. NaN where the reference has none never passes,
/// whatever the ratio; where the reference is NaN only NaN agrees; an infinity agrees with itself alone, whatever the
/// tolerance. Integers are compared without rounding. Both spans hold whole elements of type and as many as the shape
/// says; a size mismatch throws std::invalid_argument. Uses all cores.
Comparison compare(const std::string& output, DType type, std::span<const std::byte> actual,
                   std::span<const std::byte> expected, std::span<const std::uint64_t> shape,
                   const Tolerance& tolerance);

}  // namespace xtune

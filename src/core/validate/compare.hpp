// Compares an output with its reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/validate/tolerance.hpp"

namespace xtune::validate {

/// The result of one comparison, for one output argument.
struct Comparison {
  std::string output;  ///< the argument's name
  bool passed = true;
  std::uint64_t count = 0, mismatched = 0, nans = 0;  ///< nans: where the reference has no NaN
  std::uint64_t infinities = 0;                       ///< where the reference is finite
  std::uint64_t outliers = 0;   ///< mismatches beyond outlier_factor times the tolerance, or without a finite size
  std::uint64_t unwritten = 0;  ///< elements that still contain the poison, but not in the reference
  std::optional<std::uint64_t> first_index;      ///< flat index of the first mismatch
  std::vector<std::uint64_t> first_coordinates;  ///< in the argument's shape
  double actual = 0, expected = 0;               ///< at first_index; may be NaN or infinite
  double actual_imaginary = 0, expected_imaginary = 0;
  double max_abs_error = 0;  ///< over finite pairs
  double max_rel_error = 0;  ///< over finite pairs whose expected value is not 0
  Tolerance tolerance;       ///< that of first_index, or the one with the largest atol
  /// "C: 12 of 4096 elements differ (0.29 %, 0 allowed); first at [3, 17]: got nan, expected 1.5; max abs error ...,
  /// rel ..."
  std::string text() const;
};

/// The coordinates of a flat index in an array of this shape.
std::vector<std::uint64_t> coordinates_of(std::uint64_t index, std::span<const std::uint64_t> shape);

/// "1.5", or "1.5-2i" for a complex element.
std::string element_text(DType type, const std::byte* element);

/// How many of count elements may differ: floor(count * ratio); a product that is below an integer only because of
/// rounding counts as that integer.
std::uint64_t allowed_mismatches(std::uint64_t count, double ratio) noexcept;

/// Compares element by element with the tolerance. NaN or infinity where the reference has a finite number never
/// passes, for any ratio. If the reference is NaN, only NaN agrees. If it contains the poison of a float, which means
/// that it did not write the element, only the same bits agree. An infinity agrees only with itself. Mismatches that
/// the ratio allows must still be within outlier_factor times the tolerance, or within that many steps of the type (1
/// for integers, the distance of neighbouring numbers for floats) if those are larger; a number instead of NaN or
/// infinity is not allowed. Complex numbers are compared by the magnitude of their difference; one is NaN if a part of
/// it is. Integers are compared without rounding. Both spans must have whole elements of the type and the number of
/// elements of the shape, else it throws std::invalid_argument. Uses all cores.
Comparison compare(const std::string& output, DType type, std::span<const std::byte> actual,
                   std::span<const std::byte> expected, std::span<const std::uint64_t> shape,
                   const Tolerance& tolerance);

}  // namespace xtune::validate

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
/// What rtol and atol are when the spec gives none (integers exact; f64 1e-7, f32 1e-4, f16 1e-2, ...).
Tolerance default_tolerance(DType type);

/// The result of one comparison, for one output argument.
struct Comparison {
  std::string output;  ///< the argument's name
  bool passed = true;
  std::uint64_t count = 0, mismatched = 0, nans = 0;  ///< nans: where the reference has none
  std::uint64_t unwritten = 0;                        ///< elements that still hold the poison
  std::optional<std::uint64_t> first_index;           ///< flat
  std::vector<std::uint64_t> first_coordinates;       ///< in the argument's shape
  double actual = 0, expected = 0;                    ///< at first_index; may be NaN or infinite
  double max_abs_error = 0, max_rel_error = 0;        ///< over finite pairs
  /// "C: 12 of 4096 elements differ (0.29 %, 0 allowed); first at [3, 17]: got nan, expected 1.5; max abs error ..., rel ..."
  std::string text() const;
};

/// |actual - expected| <= atol + rtol * |expected| element by element. NaN where the reference has none never passes, whatever
/// the ratio; infinities must agree. Both spans hold whole elements of type; a size mismatch throws std::invalid_argument.
Comparison compare(const std::string& output, DType type, std::span<const std::byte> actual,
                   std::span<const std::byte> expected, std::span<const std::uint64_t> shape, const Tolerance& tolerance);

}  // namespace xtune

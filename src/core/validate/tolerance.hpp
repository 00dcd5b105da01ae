// The allowed difference between an output and its reference: from the spec, or derived from the arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/spec/dtype.hpp"

namespace xtune::validate {

/// Accepts an element of an output if |actual - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 0, atol = 0;
  double max_mismatched_ratio = 0;  ///< fails when mismatches > floor(count * ratio)
  /// Fails for any mismatch beyond this multiple of the tolerance, or of one step of the type if that is larger.
  double outlier_factor = 10;
  /// The atol of each row of row_length elements, whose maximum is atol; empty: that of all elements is atol.
  std::vector<double> row_atol{};
  std::uint64_t row_length = 0;

  double atol_at(std::uint64_t element) const { return row_atol.empty() ? atol : row_atol[element / row_length]; }
  /// The tolerance at an element, or with the largest atol; without those of other rows.
  Tolerance at(std::optional<std::uint64_t> element) const {
    return {rtol, element ? atol_at(*element) : atol, max_mismatched_ratio, outlier_factor};
  }
};

/// The tolerance of an output in a spec.
struct ToleranceRule {
  std::optional<double> rtol, atol;  ///< unset: computed by tolerance_for
  double max_mismatched_ratio = 0;
  double outlier_factor = 10;
  std::optional<std::uint64_t> reduction{};  ///< number of terms that form one element; unset: that of the reference
  std::optional<DType> accumulate{};         ///< the type of the sum; unset: f64 for f64, else f32
};

/// Facts about the results of a reference, for the tolerance.
struct ResultFacts {
  /// Terms that are added up for one element: 1 for elementwise functions, 0 for results that are moved and not
  /// computed.
  std::uint64_t reduction = 65536;
  /// The magnitude of a result whose terms have random signs, sqrt(reduction) times their root mean square; 0: unknown.
  double scale = 0;
};

/// The structure of a floating type, or of a part of a complex one; zeros for integers and booleans.
struct FloatFormat {
  std::uint32_t exponent_bits = 0, mantissa_bits = 0;
};
FloatFormat float_format(DType type) noexcept;

/// Half the distance from 1 to the next number of a floating type, 2^-24 for f32; 0 for integers and booleans.
double unit_roundoff(DType type) noexcept;

/// Integers and booleans are exact. For floats, with u the unit roundoffs, K the reduction length, S the root mean
/// square of the finite expected values and T their typical_magnitude:
///   eta = 2 u(output) + 8 sqrt(K) u(accumulate), at most 1/4;  rtol = eta
///   atol = min(eta S, 2 max(eta, 1/64) T), at least eta facts.scale and the type's smallest step
/// and eta = 0 for K = 0. S and T are those of each row, if the shape has several of at least 64 elements, else those
/// of the array; for rows that are smaller than the array, facts.scale is smaller by the same factor. sqrt(K) instead
/// of K: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, chapter 2, on the statistical approach;
/// with the factor 8 each rounding exceeds the bound with a probability of 3e-14 (the lambda of Higham and Mary, SIAM
/// J. Sci. Comput. 41, 2019). docs/validation.md describes which errors it finds. expected has whole elements of type.
/// Uses all cores.
///
/// The sizes of terms that cancel are not in the results, and S stands for them. T only limits what values that are
/// much larger than the rest, such as those of a mask, add to S: to 1/32 of a usual element. For usual distributions
/// eta S is far below that (in types of few bits it is below 2 eta T), so the limit changes nothing there.
///
/// The root mean square of 64 random sums is less than half of their scale with a probability of 1e-9, so that of a row
/// is as good as that of the array. A row of zeros has no scale, and the atol of the array.
Tolerance tolerance_for(const ToleranceRule& rule, DType type, const ResultFacts& facts,
                        std::span<const std::byte> expected, std::span<const std::uint64_t> shape = {});

/// The root mean square of the finite elements (for complex ones, of their magnitudes); 0 if there are none.
double root_mean_square(DType type, std::span<const std::byte> elements);

/// The median magnitude of the finite elements other than 0, without magnitudes that more than a quarter of these have:
/// a mask or padding is not a sum, and may be most of an array. The smallest such magnitude if there are no others; 0
/// if there is no such element. Of more than max_sampled elements, from a sample that is always the same.
double typical_magnitude(DType type, std::span<const std::byte> elements, std::uint64_t max_sampled = 1 << 16);

/// Elements other than 0, and those of them that would agree with 0. Both are 0 for a tolerance that 0 never meets.
struct ZeroFacts {
  std::uint64_t others = 0, agreeing = 0;
};
ZeroFacts zero_facts(DType type, std::span<const std::byte> expected, const Tolerance& tolerance);

}  // namespace xtune::validate

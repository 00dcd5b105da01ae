// The allowed difference between an output and its reference: from the spec, or derived from the arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/spec/dtype.hpp"

namespace xtune::validate {

/// Accepts an element of an output if |actual - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 0, atol = 0;
  double max_mismatched_ratio = 0;  ///< fails when mismatches > floor(count * ratio)
  /// Fails for any mismatch beyond this multiple of the tolerance, or of one step of the type if that is larger.
  double outlier_factor = 10;
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

/// Half the distance from 1 to the next number of a floating type, 2^-24 for f32; 0 for integers and booleans.
double unit_roundoff(DType type) noexcept;

/// Integers and booleans are exact. For floats, with u the unit roundoffs, K the reduction length and S the root mean
/// square of the finite expected values (facts.scale where that is larger):
///   eta = 2 u(output) + 8 sqrt(K) u(accumulate), at most 1/4;  rtol = eta, atol = eta S;
/// and eta = 0 for K = 0. sqrt(K) instead of K: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002,
/// chapter 2, on the statistical approach; with the factor 8 each rounding exceeds the bound with a probability of
/// 3e-14 (the lambda of Higham and Mary, SIAM J. Sci. Comput. 41, 2019). docs/validation.md describes which errors it
/// finds. expected has whole elements of type. Uses all cores.
Tolerance tolerance_for(const ToleranceRule& rule, DType type, const ResultFacts& facts,
                        std::span<const std::byte> expected);

/// The root mean square of the finite elements (for complex ones, of their magnitudes); 0 if there are none.
double root_mean_square(DType type, std::span<const std::byte> elements);

}  // namespace xtune::validate

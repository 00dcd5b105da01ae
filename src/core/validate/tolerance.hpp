// How far an output may lie from its reference: what the spec says, and what follows from the arithmetic where it says
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/spec/dtype.hpp"

namespace xtune::validate {

/// Decides for one output element by element: |actual - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double rtol = 0, atol = 0;
  double max_mismatched_ratio = 0;  ///< fails when mismatches > floor(count * ratio)
  /// Fails for any mismatch beyond so many times the tolerance, or times one step of the type where that is larger.
  double outlier_factor = 10;
};

/// What a spec says of the tolerance of its outputs.
struct ToleranceRule {
  std::optional<double> rtol, atol;  ///< unset: tolerance_for works them out
  double max_mismatched_ratio = 0;
  double outlier_factor = 10;
  std::optional<std::uint64_t> reduction{};  ///< how many terms make one element; unset: as the reference knows
  std::optional<DType> accumulate{};         ///< the type they are added up in; unset: f64 for f64, else f32
};

/// What a reference knows of how its results come about.
struct ResultFacts {
  /// Terms that are added up for one element: 1 for elementwise functions, 0 for results that are moved and not
  /// computed.
  std::uint64_t reduction = 65536;
  /// The size of a result whose terms have random signs, sqrt(reduction) times their root mean square; 0: unknown.
  double scale = 0;
};

/// Half the distance from 1 to the next number of a floating type, 2^-24 for f32; 0 for integers and booleans.
double unit_roundoff(DType type) noexcept;

/// Integers and booleans are exact. For floats, with u the unit roundoffs, K the reduction length and S the root mean
/// square of the finite expected values (facts.scale where that is larger):
///   eta = 2 u(output) + 8 sqrt(K) u(accumulate), at most 1/4;  rtol = eta, atol = eta S;
/// and eta = 0 for K = 0. sqrt(K) in place of K: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002,
/// chapter 2, on the statistical approach; the factor 8 leaves each rounding a chance of 3e-14 to break the bound (the
/// lambda of Higham and Mary, SIAM J. Sci. Comput. 41, 2019). docs/validation.md says what it sees and what not.
/// expected holds whole elements of type. Uses all cores.
Tolerance tolerance_for(const ToleranceRule& rule, DType type, const ResultFacts& facts,
                        std::span<const std::byte> expected);

/// The root mean square of the finite elements (of complex ones, of their magnitudes); 0 where there is none.
double root_mean_square(DType type, std::span<const std::byte> elements);

}  // namespace xtune::validate

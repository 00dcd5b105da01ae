// The expected improvement of a normal prediction.
#pragma once

#include <cmath>

namespace xtune::search {

/// Logarithm of the expected improvement upon `best` (less is better) of a normal variable (Jones, Schonlau and Welch,
/// "Efficient Global Optimization of Expensive Black-Box Functions", 1998). Uses the asymptote if the improvement is
/// too unlikely for doubles. deviation > 0.
inline double log_expected_improvement(double mean, double deviation, double best) {
  const double z = (best - mean) / deviation;
  const double log_density = -z * z / 2 - 0.5 * std::log(2 * M_PI);
  if (z < -5) return std::log(deviation) + log_density - 2 * std::log(-z);
  return std::log(deviation) + std::log(std::exp(log_density) + z * 0.5 * std::erfc(-z / std::sqrt(2.0)));
}

}  // namespace xtune::search

// Times on a scale that suits models.
#pragma once

#include <span>

namespace xtune::search {

/// Logarithms of times, compressed for times that are much slower than the best: near the best it matters how good a
/// place is, elsewhere only that it is bad.
class SoftLogarithm {
 public:
  /// times_ms: positive, ascending, not empty.
  explicit SoftLogarithm(std::span<const double> times_ms);
  double operator()(double time_ms) const noexcept;

 private:
  double cap_ = 0;
};

}  // namespace xtune::search

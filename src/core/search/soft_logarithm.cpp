// A logarithm with a knee.
#include "core/search/soft_logarithm.hpp"

#include <algorithm>
#include <cmath>

namespace xtune::search {

namespace {

constexpr double slope_beyond_cap = 0.1;
constexpr double max_above_best = 1;     // e times the best, unless fewer than a quarter are that good
constexpr double min_above_best = 0.05;  // differences within the noise make no knee

}  // namespace

SoftLogarithm::SoftLogarithm(std::span<const double> times_ms) {
  const auto quantile = [&](double part) {
    return std::log(times_ms[static_cast<std::size_t>(part * static_cast<double>(times_ms.size() - 1))]);
  };
  const double best = std::log(times_ms.front());
  const double knee = std::min(quantile(0.75), std::max(best + max_above_best, quantile(0.25)));
  cap_ = std::max(best + min_above_best, knee);
}

double SoftLogarithm::operator()(double time_ms) const noexcept {
  const double value = std::log(time_ms);
  return value <= cap_ ? value : cap_ + slope_beyond_cap * (value - cap_);
}

}  // namespace xtune::search

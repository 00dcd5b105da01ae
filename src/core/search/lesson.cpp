// Targets from results.
#include "core/search/lesson.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/search/soft_logarithm.hpp"

namespace xtune::search {

namespace {

// The centre is this many deviations below the mean: unknown configurations are expected to be somewhat better than
// known ones, which makes the search explore.
constexpr double optimism = 0.5;

}  // namespace

Lesson::Lesson(std::span<const SearchResult> results) {
  std::vector<double> measured_ms;
  for (const SearchResult& result : results)
    if (result.kind == SearchResult::Kind::measured) measured_ms.push_back(result.time_ms);
  std::sort(measured_ms.begin(), measured_ms.end());
  std::vector<SearchResult> timed;
  for (SearchResult result : results) {
    if (result.kind == SearchResult::Kind::failed) {
      failed_.push_back(result.index);
      targets_.emplace(result.index, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    // A bound above the best counts as the time; a bound below only means that the configuration was beaten.
    if (result.kind == SearchResult::Kind::bound && result.time_ms <= measured_ms.front())
      result.time_ms = measured_ms[measured_ms.size() / 2];
    timed.push_back(result);
  }
  failure_rate_ = static_cast<float>(failed_.size()) / static_cast<float>(results.size());
  std::sort(timed.begin(), timed.end(), [](const SearchResult& a, const SearchResult& b) {
    return std::pair(a.time_ms, a.index) < std::pair(b.time_ms, b.index);
  });
  const SoftLogarithm logarithm(measured_ms);
  std::vector<double> values;
  for (const SearchResult& result : timed) {
    timed_.push_back(result.index);
    values.push_back(logarithm(result.time_ms));
  }
  double mean = 0, square = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) square += (value - mean) * (value - mean);
  const double deviation = std::max(1e-3, std::sqrt(square / static_cast<double>(timed.size())));
  const double centre = mean - optimism * deviation;
  for (std::size_t i = 0; i < timed.size(); ++i)
    targets_.emplace(timed_[i], static_cast<float>((values[i] - centre) / deviation));
  best_ = static_cast<float>((logarithm(measured_ms.front()) - centre) / deviation);
}

float Lesson::target(std::uint64_t index) const {
  const auto found = targets_.find(index);
  return found == targets_.end() ? std::numeric_limits<float>::quiet_NaN() : found->second;
}

float Lesson::failure(std::uint64_t index) const {
  const auto found = targets_.find(index);
  if (found == targets_.end()) return std::numeric_limits<float>::quiet_NaN();
  return (std::isnan(found->second) ? 1.0f : 0.0f) - failure_rate_;
}

}  // namespace xtune::search

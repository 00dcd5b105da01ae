// Spread out, with a preference for the middle.
#include "core/search/initial_design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xtune::search {

namespace {

constexpr int draws = 100;
constexpr float centre_pull = 0.3f;

float distance(const std::vector<float>& a, const std::vector<float>& b) {
  float square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(square);
}

}  // namespace

std::optional<std::uint64_t> InitialDesign::next(base::Random& random) {
  if (space_.size() == 0) return std::nullopt;
  const std::vector<float> centre(features_.plain_count(), 0.5f);
  std::vector<float> point(features_.plain_count()), best_point;
  float best_score = -std::numeric_limits<float>::infinity();
  std::uint64_t best = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const std::uint64_t index = random.below(space_.size());
    features_.plain(space_.value_indices(index), point.data());
    float score = -distance(point, centre);
    if (!taken_.empty()) {
      float nearest = std::numeric_limits<float>::infinity();
      for (const std::vector<float>& other : taken_) nearest = std::min(nearest, distance(point, other));
      score = nearest + centre_pull * score;
    }
    if (score > best_score) {
      best_score = score;
      best = index;
      best_point = point;
    }
  }
  taken_.push_back(std::move(best_point));
  return best;
}

}  // namespace xtune::search

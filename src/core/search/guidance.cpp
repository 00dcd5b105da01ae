// The sources of a search, and the parameters that choose between implementations.
#include "core/search/guidance.hpp"

#include <algorithm>
#include <cmath>

#include "core/search/model.hpp"

namespace xtune::search {

namespace {

bool chooses_way(const space::Parameter& parameter) {
  const auto& values = parameter.values;
  if (values.size() < 2 || values.size() > max_switch_values) return false;
  return values.size() == 2 || std::holds_alternative<std::string>(values.front()) ||
         std::find(values.begin(), values.end(), Value(std::int64_t{0})) != values.end();
}

// One source's scores, from its records and from a forest over them.

constexpr std::size_t min_times = 8;
constexpr std::size_t max_training_points = 1200;  // training set of the forest: one third the best, the rest random

}  // namespace

Guidance::Guidance(const space::Space& space, const Features& features, std::span<const Source> sources,
                   base::Random& random) {
  for (const Source& source : sources) {
    Guide guide(space, features, source, random);
    if (guide.usable()) guides_.push_back(std::move(guide));
  }
  for (const space::Parameter& parameter : space.parameters()) is_switch_.push_back(chooses_way(parameter));
}

const std::vector<double>& Guidance::scores(std::uint64_t index) const {
  std::vector<double>& scores = known_scores_[index];
  if (scores.empty())
    for (const Guide& guide : guides_) scores.push_back(guide.score(index));
  return scores;
}

Guide::Guide(const space::Space& space, const Features& features, const Source& source, base::Random& random)
    : space_(&space), features_(&features) {
  std::vector<std::pair<double, std::uint64_t>> times;
  for (const Observation& observation : source.observations)
    if (observation.index < space.size() && observation.outcome == Outcome::ok && observation.time_ms > 0 &&
        std::isfinite(observation.time_ms) && scores_.emplace(observation.index, 0).second)
      times.emplace_back(observation.time_ms, observation.index);
  if (times.size() < min_times) return;
  std::sort(times.begin(), times.end());
  std::vector<double> times_ms;
  for (const auto& [time, index] : times) times_ms.push_back(time);
  const SoftLogarithm logarithm(times_ms);
  const double middle = logarithm(times_ms[times_ms.size() / 2]);
  for (const auto& [time, index] : times) {
    order_.push_back(index);
    scores_[index] = logarithm(time) - middle;
  }
  if (scores_.size() == space.size() || features.all_count() == 0) return;
  std::vector<std::uint64_t> sample = order_;
  if (sample.size() > max_training_points) {
    for (std::size_t i = max_training_points / 3; i < max_training_points; ++i)
      std::swap(sample[i], sample[i + random.below(sample.size() - i)]);
    sample.resize(max_training_points);
  }
  const std::size_t width = features.all_count();
  std::vector<float> points(sample.size() * width), targets;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    features.all(space.value_indices(sample[i]), points.data() + i * width);
    targets.push_back(static_cast<float>(scores_.at(sample[i])));
  }
  forest_.fit(points, targets, width, {}, random);
}

double Guide::score(std::uint64_t index) const {
  const auto found = scores_.find(index);
  if (found != scores_.end()) return found->second;
  std::vector<float> point(features_->all_count());
  features_->all(space_->value_indices(index), point.data());
  return forest_.predict(point.data()).mean;
}

}  // namespace xtune::search

// Trees in one flat array, grown depth first.
#include "core/search/extra_trees.hpp"

#include <algorithm>
#include <numeric>

namespace xtune::search {

void ExtraTrees::fit(std::span<const float> points, std::span<const float> targets, std::size_t features,
                     const ForestOptions& options, base::Random& random) {
  features_ = features;
  nodes_.clear();
  roots_.clear();
  std::vector<std::uint32_t> rows(targets.size());
  for (std::size_t tree = 0; tree < options.trees && !rows.empty(); ++tree) {
    std::iota(rows.begin(), rows.end(), 0u);
    roots_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    grow(rows, points, targets, options, random);
  }
}

void ExtraTrees::grow(std::span<std::uint32_t> rows, std::span<const float> points, std::span<const float> targets,
                      const ForestOptions& options, base::Random& random) {
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  float sum = 0;
  for (const std::uint32_t row : rows) sum += targets[row];
  const auto count = static_cast<float>(rows.size());
  nodes_[node].value = sum / count;
  if (rows.size() < 2 * options.min_leaf) return;
  float best_gain = 1e-9f, best_cut = 0;
  std::size_t best_feature = features_;
  for (std::size_t attempt = 0, tried = 0; attempt < 4 * options.tries && tried < options.tries; ++attempt) {
    const std::size_t feature = random.below(features_);
    // A cut between two of the node's own points always divides them if the feature varies.
    const float a = points[rows[random.below(rows.size())] * features_ + feature];
    const float b = points[rows[random.below(rows.size())] * features_ + feature];
    if (a == b) continue;
    ++tried;
    const float cut = std::min(a, b) + std::abs(b - a) * static_cast<float>(random.uniform());
    float left_sum = 0, left_count = 0;
    for (const std::uint32_t row : rows) {
      const bool left = points[row * features_ + feature] <= cut;
      left_sum += left ? targets[row] : 0;
      left_count += left ? 1 : 0;
    }
    const float right_count = count - left_count;
    if (left_count < static_cast<float>(options.min_leaf) || right_count < static_cast<float>(options.min_leaf))
      continue;
    const float difference = left_sum / left_count - (sum - left_sum) / right_count;
    const float gain = difference * difference * left_count * right_count;
    if (gain > best_gain) {
      best_gain = gain;
      best_cut = cut;
      best_feature = feature;
    }
  }
  if (best_feature == features_) return;
  const auto middle = std::partition(
      rows.begin(), rows.end(), [&](std::uint32_t row) { return points[row * features_ + best_feature] <= best_cut; });
  const auto left_size = static_cast<std::size_t>(middle - rows.begin());
  grow(rows.first(left_size), points, targets, options, random);
  const auto right = static_cast<std::uint32_t>(nodes_.size());
  grow(rows.subspan(left_size), points, targets, options, random);
  nodes_[node] = {static_cast<std::uint32_t>(best_feature), right, best_cut};
}

ExtraTrees::Prediction ExtraTrees::predict(const float* point) const {
  float sum = 0, squares = 0;
  for (std::uint32_t at : roots_) {
    while (nodes_[at].right != 0) at = point[nodes_[at].feature] <= nodes_[at].value ? at + 1 : nodes_[at].right;
    sum += nodes_[at].value;
    squares += nodes_[at].value * nodes_[at].value;
  }
  const auto count = static_cast<float>(std::max<std::size_t>(1, roots_.size()));
  const float mean = sum / count;
  return {mean, std::max(0.0f, squares / count - mean * mean)};
}

}  // namespace xtune::search

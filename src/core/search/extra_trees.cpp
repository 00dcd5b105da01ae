// Trees in one flat array, grown depth first.
#include "core/search/extra_trees.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/search/model.hpp"

namespace xtune::search {

namespace {

// Extremely randomised trees as a model of times, and nearest results as one of failures.

constexpr float min_deviation = 0.05f;  // agreement of the trees is not certainty
constexpr std::size_t max_tree_points = 2000;

class ForestModel : public Model {
 public:
  ForestModel(const space::Space& space, const Features& features) : space_(space), features_(features) {}

  void restart(const Lesson& lesson, std::span<const std::uint64_t> under_way, std::span<const std::uint64_t> pool,
               base::Random& random) override {
    points_.clear();
    predictions_.clear();
    under_way_.assign(under_way.begin(), under_way.end());
    grow(lesson, random);
    extend(pool);
  }

  void extend(std::span<const std::uint64_t> candidates) override {
    const std::size_t before = points_.size();
    points_.resize(before + candidates.size() * features_.all_count());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      float* point = points_.data() + before + i * features_.all_count();
      features_.all(space_.value_indices(candidates[i]), point);
      predictions_.push_back(look_up(point));
    }
  }

  void expect(std::uint64_t index) override { under_way_.push_back(index); }

  void update(const Lesson& lesson, base::Random& random) override {
    // A forest is expensive to train, so it is trained again only every few results.
    if (lesson.timed().size() + lesson.failed().size() < next_growth_) return;
    grow(lesson, random);
    for (std::size_t i = 0; i < predictions_.size(); ++i)
      predictions_[i] = look_up(points_.data() + i * features_.all_count());
  }

  Prediction predict(std::size_t candidate) const override { return predictions_[candidate]; }

 private:
  // Two forests: of times, where outstanding configurations count with their predictions; and of failures.
  void grow(const Lesson& lesson, base::Random& random) {
    const std::size_t results = lesson.timed().size() + lesson.failed().size();
    next_growth_ = results + 1 + results / 40;
    const std::size_t width = features_.all_count();
    std::vector<float> points, targets, failures;
    const auto add = [&](std::uint64_t index) {
      points.resize(points.size() + width);
      features_.all(space_.value_indices(index), points.data() + points.size() - width);
    };
    std::vector<std::uint64_t> still;
    for (const std::uint64_t index : under_way_)
      if (std::isnan(lesson.failure(index))) still.push_back(index);
    under_way_ = std::move(still);
    for (const std::uint64_t index : lesson.timed()) {
      if (targets.size() == max_tree_points) break;
      add(index);
      targets.push_back(lesson.target(index));
    }
    failures.assign(targets.size(), 0);
    if (times_.grown())
      for (const std::uint64_t index : under_way_) {
        add(index);
        targets.push_back(times_.predict(points.data() + points.size() - width).mean);
      }
    const ForestOptions options;
    times_.fit(points, targets, width, options, random);
    can_fail_ = !lesson.failed().empty();
    if (!can_fail_) return;
    points.resize(failures.size() * width);
    for (const std::uint64_t index : lesson.failed()) {
      add(index);
      failures.push_back(1);
    }
    failures_.fit(points, failures, width, options, random);
  }

  Prediction look_up(const float* point) const {
    const ExtraTrees::Prediction time = times_.predict(point);
    return {time.mean, std::sqrt(time.variance) + min_deviation, can_fail_ ? failures_.predict(point).mean : 0};
  }

  const space::Space& space_;
  const Features& features_;
  ExtraTrees times_, failures_;
  bool can_fail_ = false;
  std::size_t next_growth_ = 0;
  std::vector<std::uint64_t> under_way_;
  std::vector<float> points_;
  std::vector<Prediction> predictions_;
};

}  // namespace

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

std::unique_ptr<Model> make_forest_model(const space::Space& space, const Features& features) {
  return std::make_unique<ForestModel>(space, features);
}

}  // namespace xtune::search

// Extremely randomised trees as a model of times, and nearest results as one of failures.
#include <algorithm>
#include <cmath>

#include "core/search/extra_trees.hpp"
#include "core/search/model.hpp"

namespace xtune::search {

namespace {

constexpr float min_deviation = 0.05f;  // agreement of the trees is not certainty
constexpr std::size_t max_points = 2000;

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
      if (targets.size() == max_points) break;
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

std::unique_ptr<Model> make_forest_model(const space::Space& space, const Features& features) {
  return std::make_unique<ForestModel>(space, features);
}

}  // namespace xtune::search

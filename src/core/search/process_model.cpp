// A Gaussian process as a model of times, and a second one for failures after the first failure.
//
// Targets are compressed logarithms of time (soft_logarithm.hpp). Every few results the model restarts: it learns the
// length of each feature again, takes a new pool of candidates and chooses the points that it keeps. Between restarts
// each result adds one row to a Cholesky factor (gaussian_process.hpp), so that a proposal costs points x candidates
// multiplications and no factorisation.
//
// Failures have other boundaries, such as shared memory or threads, and hence other lengths: a regression on 0 and 1,
// which shares all code with the times.
//
// The cost limits the constants: learning lengths is cubic in max_for_lengths for each of first_steps or later_steps
// gradient steps, and rows are quadratic in max_points. Half of each sample are the best results, where accuracy
// matters, and half are random, so that the model keeps some points in bad regions.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/search/gaussian_process.hpp"
#include "core/search/model.hpp"

namespace xtune::search {

namespace {

constexpr std::size_t max_for_lengths = 120;  // points that lengths are learnt from: half the best, half by chance
constexpr std::size_t max_points = 500;       // points of a restart, chosen likewise: time grows with their square
constexpr int first_steps = 30, later_steps = 10;

// The best half of `count`, and a random other half from the rest.
std::vector<std::uint64_t> thinned(std::vector<std::uint64_t> best_first, std::size_t count, base::Random& random) {
  if (best_first.size() <= count) return best_first;
  for (std::size_t i = count / 2; i < count; ++i)
    std::swap(best_first[i], best_first[i + random.below(best_first.size() - i)]);
  best_first.resize(count);
  return best_first;
}

class ProcessModel : public Model {
 public:
  ProcessModel(const space::Space& space, const Features& features)
      : space_(space), features_(features), process_(features.plain_count()), failing_(features.plain_count()) {}

  void restart(const Lesson& lesson, std::span<const std::uint64_t> under_way, std::span<const std::uint64_t> pool,
               base::Random& random) override {
    const std::vector<std::uint64_t> sample = thinned(lesson.timed(), max_for_lengths, random);
    std::vector<float> targets;
    for (const std::uint64_t index : sample) targets.push_back(lesson.target(index));
    process_.learn_lengths(points_of(sample), targets, learnt_ ? later_steps : first_steps);
    learnt_ = true;
    // Failures have their own boundaries: of shared memory, of threads.
    models_failures_ = !lesson.failed().empty();
    if (models_failures_) learn_failures(lesson, random);
    const std::vector<float> candidates = points_of(pool);
    process_.set_pool(candidates);
    if (models_failures_) failing_.set_pool(candidates);
    rows_.clear();
    in_rows_.clear();
    for (const std::uint64_t index : thinned(lesson.timed(), max_points, random)) expect(index);
    for (const std::uint64_t index : lesson.failed())
      if (rows_.size() < 2 * max_points) expect(index);
    for (const std::uint64_t index : under_way) expect(index);
    left_out_ = lesson.timed().size() + lesson.failed().size() + under_way.size() - rows_.size();
    update(lesson, random);
  }

  void extend(std::span<const std::uint64_t> candidates) override {
    const std::vector<float> points = points_of(candidates);
    process_.add_candidates(points);
    if (models_failures_) failing_.add_candidates(points);
  }

  void expect(std::uint64_t index) override {
    if (!in_rows_.insert(index).second) return;
    const std::vector<float> point = points_of({&index, 1});
    process_.add_point(point.data());
    if (models_failures_) failing_.add_point(point.data());
    rows_.push_back(index);
  }

  void update(const Lesson& lesson, base::Random&) override {
    // Results of configurations that were not announced.
    if (left_out_ == 0 && lesson.timed().size() + lesson.failed().size() > 0) {
      for (const std::uint64_t index : lesson.timed()) expect(index);
      for (const std::uint64_t index : lesson.failed()) expect(index);
    }
    std::vector<float> targets, failures;
    for (const std::uint64_t index : rows_) {
      targets.push_back(lesson.target(index));
      failures.push_back(lesson.failure(index));
    }
    mean_ = process_.mean(targets);
    signal_ = static_cast<float>(process_.signal_variance(targets));
    failure_rate_ = lesson.failure_rate();
    failure_.assign(process_.pool_size(), 0);
    if (failure_rate_ > 0) failure_ = (models_failures_ ? failing_ : process_).mean(failures);
  }

  Prediction predict(std::size_t candidate) const override {
    return {mean_[candidate], std::sqrt(process_.variance()[candidate] * signal_),
            std::clamp(failure_rate_ + failure_[candidate], 0.0f, 1.0f)};
  }

 private:
  void learn_failures(const Lesson& lesson, base::Random& random) {
    std::vector<std::uint64_t> sample = thinned(lesson.failed(), max_for_lengths / 2, random);
    const std::vector<std::uint64_t> timed = thinned(lesson.timed(), max_for_lengths / 2, random);
    sample.insert(sample.end(), timed.begin(), timed.end());
    std::vector<float> failures;
    for (const std::uint64_t index : sample) failures.push_back(lesson.failure(index));
    failing_.learn_lengths(points_of(sample), failures, later_steps);
  }

  std::vector<float> points_of(std::span<const std::uint64_t> indices) const {
    std::vector<float> points(indices.size() * features_.plain_count());
    for (std::size_t i = 0; i < indices.size(); ++i)
      features_.plain(space_.value_indices(indices[i]), points.data() + i * features_.plain_count());
    return points;
  }

  const space::Space& space_;
  const Features& features_;
  GaussianProcess process_, failing_;
  bool learnt_ = false, models_failures_ = false;
  std::size_t left_out_ = 0;
  std::vector<std::uint64_t> rows_;
  std::unordered_set<std::uint64_t> in_rows_;
  std::vector<float> mean_, failure_;
  float signal_ = 1, failure_rate_ = 0;
};

}  // namespace

std::unique_ptr<Model> make_process_model(const space::Space& space, const Features& features) {
  return std::make_unique<ProcessModel>(space, features);
}

}  // namespace xtune::search

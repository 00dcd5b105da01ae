// A Cholesky factor that grows by a row for each point, and its products with the pool, which grow in the same way.
#include "core/search/gaussian_process.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/search/model.hpp"

namespace xtune::search {

namespace {

/// The kernel for these distances, in place.
template <class Vector>
void to_kernel(Vector& distances) {
  auto r = distances.array();
  r *= std::sqrt(5.0f);
  r = (1 + r + r.square() * (1.0f / 3)) * (-r).exp();
}

// Lengths and noise of a Gaussian process by gradient steps that use only signs.

// Lengths of half a feature's range times the root of the number of features keep distances similar for any number of
// features (Hvarfner, Hellsten and Nardi, "Vanilla Bayesian Optimization Performs Great in High Dimensions", 2024).
constexpr double usual_length = 0.5;
constexpr double usual_noise = 0.005;
constexpr double prior_deviation = 1;  // of the logarithms of lengths and noise around their usual values
constexpr double min_log_scale = -6, max_log_scale = 4;
const double min_log_noise = std::log(1e-4);

// The posterior of the hyper-parameters, up to a constant: a likelihood with the best signal variance, and a normal
// prior on each logarithm.
struct Posterior {
  double value = -std::numeric_limits<double>::infinity();
  Eigen::VectorXd gradient;
};

Posterior posterior(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& logs,
                    const Eigen::VectorXd& usual) {
  const Eigen::Index n = x.rows();
  const Eigen::Index d = x.cols();
  const double noise = std::exp(logs[d]);
  const Eigen::MatrixXd scaled = x * logs.head(d).array().exp().matrix().asDiagonal();
  const Eigen::VectorXd norms = scaled.rowwise().squaredNorm();
  Eigen::MatrixXd r = (-2 * scaled * scaled.transpose()).colwise() + norms;
  r.rowwise() += norms.transpose();
  r = (5 * r.array().max(1e-12)).sqrt().matrix();
  const Eigen::MatrixXd decay = (-r.array()).exp().matrix();
  Eigen::MatrixXd kernel = ((1 + r.array() + r.array().square() / 3) * decay.array()).matrix();
  kernel.diagonal().array() = 1 + noise;
  const Eigen::LLT<Eigen::MatrixXd> factor(kernel);
  Posterior result;
  if (factor.info() != Eigen::Success) return result;
  const Eigen::VectorXd alpha = factor.solve(y);
  const double signal = std::max(1e-9, y.dot(alpha) / static_cast<double>(n));
  result.value = -0.5 * static_cast<double>(n) * std::log(signal) - factor.matrixLLT().diagonal().array().log().sum() -
                 0.5 * (logs - usual).squaredNorm() / (prior_deviation * prior_deviation);
  Eigen::MatrixXd m = alpha * alpha.transpose() / signal - factor.solve(Eigen::MatrixXd::Identity(n, n));
  result.gradient = -(logs - usual) / (prior_deviation * prior_deviation);
  result.gradient[d] += 0.5 * noise * m.trace();
  m.array() *= (1 + r.array()) * decay.array();
  const Eigen::VectorXd sums = m.rowwise().sum();
  const Eigen::MatrixXd products = m * scaled;
  for (Eigen::Index k = 0; k < d; ++k)
    result.gradient[k] -= 5.0 / 3.0 * (scaled.col(k).cwiseAbs2().dot(sums) - scaled.col(k).dot(products.col(k)));
  return result;
}

// A Gaussian process as a model of times, and a second one for failures after the first failure.
//
// Targets are compressed logarithms of time (SoftLogarithm). Every few results the model restarts: it learns the
// length of each feature again, takes a new pool of candidates and chooses the points that it keeps. Between restarts
// each result adds one row to a Cholesky factor, so that a proposal costs points x candidates
// multiplications and no factorisation.
//
// Failures have other boundaries, such as shared memory or threads, and hence other lengths: a regression on 0 and 1,
// which shares all code with the times.
//
// The cost limits the constants: learning lengths is cubic in max_for_lengths for each of first_steps or later_steps
// gradient steps, and rows are quadratic in max_points. Half of each sample are the best results, where accuracy
// matters, and half are random, so that the model keeps some points in bad regions.

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

GaussianProcess::Row GaussianProcess::scaled(const float* point) const {
  Row result = Eigen::Map<const Row>(point, features_);
  for (Index k = 0; k < features_; ++k)
    result[k] *= static_cast<float>(std::exp(log_scales_[static_cast<std::size_t>(k)]));
  return result;
}

void GaussianProcess::reserve(Index points, Index pool) {
  if (points > factor_.rows()) {
    const Index room = std::max(points, factor_.rows() * 2 + 32);
    factor_.conservativeResize(room, room);
    points_scaled_.conservativeResize(room, features_);
    projected_.conservativeResize(room, pool_scaled_.cols());
  }
  if (pool > pool_scaled_.cols()) {
    const Index room = std::max(pool, pool_scaled_.cols() + pool_scaled_.cols() / 2);
    pool_scaled_.conservativeResize(features_, room);
    projected_.conservativeResize(factor_.rows(), room);
  }
}

void GaussianProcess::set_pool(std::span<const float> candidates) {
  points_ = 0;
  variance_.clear();
  add_candidates(candidates);
}

void GaussianProcess::add_candidates(std::span<const float> candidates) {
  const Index count = features_ == 0 ? 0 : static_cast<Index>(candidates.size()) / features_;
  reserve(points_, pool() + count);
  for (Index j = 0; j < count; ++j) {
    const Row added = scaled(candidates.data() + j * features_);
    pool_scaled_.col(pool()) = added;
    const Eigen::VectorXf column = project(added);
    projected_.col(pool()).head(points_) = column;
    variance_.push_back(points_ == 0 ? 1 : std::max(1 - column.squaredNorm(), 1e-6f));
  }
}

// factor^-1 x kernel(points, point)
Eigen::VectorXf GaussianProcess::project(const Row& scaled_point) const {
  if (points_ == 0) return {};  // the tables may have no columns yet
  Eigen::VectorXf column = (points_scaled_.topRows(points_).rowwise() - scaled_point).rowwise().norm();
  to_kernel(column);
  factor_.topLeftCorner(points_, points_).triangularView<Eigen::Lower>().solveInPlace(column);
  return column;
}

std::size_t GaussianProcess::add_point(const float* point) {
  reserve(points_ + 1, pool());
  const Row own = scaled(point);
  const Eigen::VectorXf column = project(own);
  const float left = 1 + static_cast<float>(noise()) - column.squaredNorm();
  const float diagonal = std::sqrt(std::max(left, 1e-5f));
  factor_.row(points_).head(points_) = column;
  factor_(points_, points_) = diagonal;
  points_scaled_.row(points_) = own;
  Row row = Row::Zero(pool());
  for (Index k = 0; k < features_; ++k) row.array() += (pool_scaled_.row(k).head(pool()).array() - own[k]).square();
  row = row.cwiseSqrt();
  to_kernel(row);
  row.noalias() -= column.transpose() * projected_.topLeftCorner(points_, pool());
  row /= diagonal;
  projected_.row(points_).head(pool()) = row;
  Eigen::Map<Row> variance(variance_.data(), pool());
  variance.array() = (variance.array() - row.array().square()).max(1e-6f);
  return static_cast<std::size_t>(points_++);
}

Eigen::VectorXf GaussianProcess::weights(std::span<const float> targets) const {
  Eigen::VectorXf result = Eigen::VectorXf::Zero(points_);
  for (Index i = 0; i < points_; ++i)
    if (const float target = targets[static_cast<std::size_t>(i)]; !std::isnan(target))
      result[i] = (target - factor_.row(i).head(i).dot(result.head(i))) / factor_(i, i);
  return result;
}

std::vector<float> GaussianProcess::mean(std::span<const float> targets) const {
  std::vector<float> result(pool_size(), 0);
  Eigen::Map<Row>(result.data(), pool()).noalias() =
      weights(targets).transpose() * projected_.topLeftCorner(points_, pool());
  return result;
}

double GaussianProcess::signal_variance(std::span<const float> targets) const {
  const auto known = std::ranges::count_if(targets.first(points()), [](float target) { return !std::isnan(target); });
  const double sum = weights(targets).cast<double>().squaredNorm();
  return known > 0 ? std::max(1e-8, sum / static_cast<double>(known)) : 1;
}

GaussianProcess::GaussianProcess(std::size_t features)
    : features_(static_cast<Index>(features)),
      log_scales_(features + 1,
                  -std::log(usual_length) - 0.5 * std::log(static_cast<double>(std::max<std::size_t>(1, features)))) {
  log_scales_.back() = std::log(usual_noise);
}

double GaussianProcess::noise() const noexcept { return std::exp(log_scales_.back()); }

std::vector<double> GaussianProcess::scales() const {
  std::vector<double> scales;
  for (Index k = 0; k < features_; ++k) scales.push_back(std::exp(log_scales_[static_cast<std::size_t>(k)]));
  return scales;
}

// Rprop (Riedmiller and Braun, 1993): each logarithm has its own step, which grows while its gradient keeps its sign.
void GaussianProcess::learn_lengths(std::span<const float> points, std::span<const float> targets, int steps) {
  if (targets.size() < 3 || features_ == 0) return;
  const auto n = static_cast<Index>(targets.size());
  const Index d = features_;
  const Eigen::MatrixXd x = Eigen::Map<const Matrix>(points.data(), n, d).cast<double>();
  const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXf>(targets.data(), n).cast<double>();
  const GaussianProcess fresh(static_cast<std::size_t>(features_));
  const Eigen::VectorXd usual = Eigen::Map<const Eigen::VectorXd>(fresh.log_scales_.data(), d + 1);
  Eigen::VectorXd logs = Eigen::Map<const Eigen::VectorXd>(log_scales_.data(), d + 1);
  Eigen::VectorXd best = logs;
  Eigen::VectorXd step = Eigen::VectorXd::Constant(d + 1, 0.2);
  Eigen::VectorXd previous = Eigen::VectorXd::Zero(d + 1);
  double best_value = -std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration <= steps; ++iteration) {
    const Posterior here = posterior(x, y, logs, usual);
    if (!std::isfinite(here.value)) break;
    if (here.value > best_value) {
      best_value = here.value;
      best = logs;
    }
    for (Eigen::Index k = 0; k <= d; ++k) {
      const double gradient = here.gradient[k];
      if (gradient * previous[k] > 0) step[k] = std::min(0.8, step[k] * 1.3);
      if (gradient * previous[k] < 0) step[k] *= 0.5;
      previous[k] = gradient;
      logs[k] += gradient > 0 ? step[k] : gradient < 0 ? -step[k] : 0;
      logs[k] = k < d ? std::clamp(logs[k], min_log_scale, max_log_scale) : std::clamp(logs[k], min_log_noise, 0.0);
    }
  }
  std::copy(best.begin(), best.end(), log_scales_.begin());
}

std::unique_ptr<Model> make_process_model(const space::Space& space, const Features& features) {
  return std::make_unique<ProcessModel>(space, features);
}

}  // namespace xtune::search

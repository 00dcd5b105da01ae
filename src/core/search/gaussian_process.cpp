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

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strided = Eigen::Map<const RowMatrix, 0, Eigen::OuterStride<>>;
using Row = Eigen::Map<Eigen::RowVectorXf>;
using ConstRow = Eigen::Map<const Eigen::RowVectorXf>;

const float root5 = std::sqrt(5.0f);

// The first `rows` rows of `columns` values, each `room` apart, as `new_rows` rows that are `new_room` apart.
std::vector<float> widened(const std::vector<float>& matrix, std::size_t rows, std::size_t room, std::size_t columns,
                           std::size_t new_rows, std::size_t new_room) {
  std::vector<float> result(new_rows * new_room, 0);
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(matrix.data() + i * room, columns, result.data() + i * new_room);
  return result;
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

std::vector<float> GaussianProcess::scaled(std::span<const float> points) const {
  std::vector<float> scales(features_);
  for (std::size_t k = 0; k < features_; ++k) scales[k] = static_cast<float>(std::exp(log_scales_[k]));
  std::vector<float> result(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) result[i] = points[i] * scales[i % features_];
  return result;
}

void GaussianProcess::reserve_points(std::size_t count) {
  if (count <= point_room_) return;
  const std::size_t room = std::max(count, point_room_ * 2 + 32);
  factor_ = widened(factor_, points_, point_room_, points_, room, room);
  point_room_ = room;
  projected_.resize(point_room_ * pool_room_);
}

void GaussianProcess::reserve_pool(std::size_t count) {
  if (count <= pool_room_) return;
  const std::size_t room = std::max(count, pool_room_ + pool_room_ / 2);
  pool_scaled_ = widened(pool_scaled_, features_, pool_room_, pool_size_, features_, room);
  projected_ = widened(projected_, points_, pool_room_, pool_size_, point_room_, room);
  pool_room_ = room;
}

void GaussianProcess::set_pool(std::span<const float> candidates) {
  points_ = 0;
  points_scaled_.clear();
  pool_size_ = 0;
  variance_.clear();
  add_candidates(candidates);
}

void GaussianProcess::add_candidates(std::span<const float> candidates) {
  const std::vector<float> added = scaled(candidates);
  const std::size_t count = features_ == 0 ? 0 : added.size() / features_;
  reserve_pool(pool_size_ + count);
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t k = 0; k < features_; ++k)
      pool_scaled_[k * pool_room_ + pool_size_ + j] = added[j * features_ + k];
  variance_.resize(pool_size_ + count, 1);
  for (std::size_t j = 0; j < count && points_ > 0; ++j) {
    const std::vector<float> column = project(added.data() + j * features_);
    float left = 1;
    for (std::size_t i = 0; i < points_; ++i) {
      projected_[i * pool_room_ + pool_size_ + j] = column[i];
      left -= column[i] * column[i];
    }
    variance_[pool_size_ + j] = std::max(left, 1e-6f);
  }
  pool_size_ += count;
}

// factor^-1 x kernel(points, point)
std::vector<float> GaussianProcess::project(const float* scaled_point) const {
  std::vector<float> column(points_);
  for (std::size_t i = 0; i < points_; ++i) {
    float r2 = 0;
    for (std::size_t k = 0; k < features_; ++k) {
      const float difference = points_scaled_[i * features_ + k] - scaled_point[k];
      r2 += difference * difference;
    }
    const float r = root5 * std::sqrt(r2);
    column[i] = (1 + r + r * r / 3) * std::exp(-r);
  }
  Eigen::Map<Eigen::VectorXf> values(column.data(), static_cast<Eigen::Index>(points_));
  Strided(factor_.data(), static_cast<Eigen::Index>(points_), static_cast<Eigen::Index>(points_),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(point_room_)))
      .triangularView<Eigen::Lower>()
      .solveInPlace(values);
  return column;
}

std::size_t GaussianProcess::add_point(const float* point) {
  reserve_points(points_ + 1);
  const std::vector<float> own = scaled({point, features_});
  const std::vector<float> column = project(own.data());
  float left = 1 + static_cast<float>(noise());
  for (const float value : column) left -= value * value;
  const float diagonal = std::sqrt(std::max(left, 1e-5f));
  std::copy(column.begin(), column.end(), factor_.begin() + static_cast<std::ptrdiff_t>(points_ * point_room_));
  factor_[points_ * point_room_ + points_] = diagonal;
  points_scaled_.insert(points_scaled_.end(), own.begin(), own.end());
  Row row(projected_.data() + points_ * pool_room_, static_cast<Eigen::Index>(pool_size_));
  row.setZero();
  for (std::size_t k = 0; k < features_; ++k) {
    ConstRow feature(pool_scaled_.data() + k * pool_room_, static_cast<Eigen::Index>(pool_size_));
    row.array() += (feature.array() - own[k]).square();
  }
  row = row.cwiseSqrt() * root5;
  row.array() = (1 + row.array() + row.array().square() * (1.0f / 3)) * (-row.array()).exp();
  if (points_ > 0)
    row.noalias() -=
        ConstRow(column.data(), static_cast<Eigen::Index>(points_)) *
        Strided(projected_.data(), static_cast<Eigen::Index>(points_), static_cast<Eigen::Index>(pool_size_),
                Eigen::OuterStride<>(static_cast<Eigen::Index>(pool_room_)));
  row /= diagonal;
  Row variance(variance_.data(), static_cast<Eigen::Index>(pool_size_));
  variance.array() = (variance.array() - row.array().square()).max(1e-6f);
  return points_++;
}

std::vector<float> GaussianProcess::weights(std::span<const float> targets) const {
  std::vector<float> result(points_);
  for (std::size_t i = 0; i < points_; ++i) {
    if (std::isnan(targets[i])) continue;
    const ConstRow row(factor_.data() + i * point_room_, static_cast<Eigen::Index>(i));
    const float known = i == 0 ? 0 : row.dot(ConstRow(result.data(), static_cast<Eigen::Index>(i)));
    result[i] = (targets[i] - known) / factor_[i * point_room_ + i];
  }
  return result;
}

std::vector<float> GaussianProcess::mean(std::span<const float> targets) const {
  std::vector<float> result(pool_size_, 0);
  const std::vector<float> w = weights(targets);
  if (points_ > 0)
    Row(result.data(), static_cast<Eigen::Index>(pool_size_)).noalias() =
        ConstRow(w.data(), static_cast<Eigen::Index>(points_)) *
        Strided(projected_.data(), static_cast<Eigen::Index>(points_), static_cast<Eigen::Index>(pool_size_),
                Eigen::OuterStride<>(static_cast<Eigen::Index>(pool_room_)));
  return result;
}

double GaussianProcess::signal_variance(std::span<const float> targets) const {
  const std::vector<float> w = weights(targets);
  double sum = 0, known = 0;
  for (std::size_t i = 0; i < points_; ++i) {
    if (std::isnan(targets[i])) continue;
    sum += double{w[i]} * w[i];
    ++known;
  }
  return known > 0 ? std::max(1e-8, sum / known) : 1;
}

GaussianProcess::GaussianProcess(std::size_t features)
    : features_(features),
      log_scales_(features + 1,
                  -std::log(usual_length) - 0.5 * std::log(static_cast<double>(std::max<std::size_t>(1, features)))) {
  log_scales_.back() = std::log(usual_noise);
}

double GaussianProcess::noise() const noexcept { return std::exp(log_scales_.back()); }

std::vector<double> GaussianProcess::scales() const {
  std::vector<double> scales;
  for (std::size_t k = 0; k < features_; ++k) scales.push_back(std::exp(log_scales_[k]));
  return scales;
}

// Rprop (Riedmiller and Braun, 1993): each logarithm has its own step, which grows while its gradient keeps its sign.
void GaussianProcess::learn_lengths(std::span<const float> points, std::span<const float> targets, int steps) {
  if (targets.size() < 3 || features_ == 0) return;
  const auto n = static_cast<Eigen::Index>(targets.size());
  const auto d = static_cast<Eigen::Index>(features_);
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd x = Eigen::Map<const Rows>(points.data(), n, d).cast<double>();
  const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXf>(targets.data(), n).cast<double>();
  const GaussianProcess fresh(features_);
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

// Gaussian processes around the scores of sources.
#include "core/search/belief.hpp"

#include <algorithm>
#include <cmath>

#include "core/search/expected_improvement.hpp"

namespace xtune::search {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A priori standard deviations, in logarithms of time.
constexpr double level_deviation = 10;  // of the unknown factor
constexpr double noise_deviation = 0.02;

double square(double value) { return value * value; }

// log(exp(a) + exp(b))
double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return std::isinf(most) ? most : most + std::log1p(std::exp(std::min(a, b) - most));
}

// Matern 5/2.
double likeness_of(const Place& a, const Place& b) {
  double distance = 0;
  for (std::size_t i = 0; i < a.point.size(); ++i) distance += square(a.point[i] - b.point[i]);
  distance = std::sqrt(5 * distance);
  return (1 + distance + distance * distance / 3) * std::exp(-distance);
}

}  // namespace

double Belief::prior_variance(double score) const {
  return square(level_deviation) + square(way_deviation) + square(smooth_deviation) + square(spread_deviation * score);
}

std::vector<Belief> beliefs_in(std::size_t sources) {
  std::vector<Belief> beliefs{{std::nullopt, 0.6, 0.4, 0}};
  for (std::size_t i = 0; i < sources; ++i) {
    beliefs.push_back({i, 0.6, 0.5, 0.2});
    beliefs.push_back({i, 0.2, 0.2, 0.2});
  }
  return beliefs;
}

Covariance::Covariance(const std::vector<Place>& rows, const std::vector<const Place*>& columns)
    : same_way_(static_cast<Index>(rows.size()), static_cast<Index>(columns.size())),
      likeness_(same_way_.rows(), same_way_.cols()) {
  for (Index i = 0; i < same_way_.rows(); ++i)
    for (Index j = 0; j < same_way_.cols(); ++j) {
      const Place& row = rows[static_cast<std::size_t>(i)];
      const Place& column = *columns[static_cast<std::size_t>(j)];
      same_way_(i, j) = row.way == column.way ? 1 : 0;
      likeness_(i, j) = likeness_of(row, column);
    }
}

MatrixXd Covariance::under(const Belief& belief, const VectorXd& rows, const VectorXd& columns) const {
  MatrixXd sum = square(belief.way_deviation) * same_way_ + square(belief.smooth_deviation) * likeness_ +
                 square(belief.spread_deviation) * rows * columns.transpose();
  sum.array() += square(level_deviation);
  return sum;
}

BeliefPosterior::BeliefPosterior(const Belief& belief, const std::vector<Place>& places,
                                 const std::vector<double>& values, const Covariance& within)
    : belief_(belief), scores_(static_cast<Index>(places.size())) {
  for (Index k = 0; k < scores_.size(); ++k) scores_[k] = belief.score(places[static_cast<std::size_t>(k)]);
  MatrixXd own = within.under(belief, scores_, scores_);
  own.diagonal().array() += square(noise_deviation);
  const auto count = static_cast<Index>(values.size());
  all_.compute(own);
  answered_.compute(own.topLeftCorner(count, count));
  surprise_ = answered_.matrixL().solve(Eigen::Map<const VectorXd>(values.data(), count) - scores_.head(count));
  log_evidence_ = -0.5 * surprise_.squaredNorm() - answered_.matrixLLT().diagonal().array().log().sum();
}

void BeliefPosterior::add_promise(const Covariance& across, const std::vector<const Place*>& open,
                                  VectorXd& promise) const {
  VectorXd columns(promise.size());
  for (Index j = 0; j < columns.size(); ++j) columns[j] = belief_.score(*open[static_cast<std::size_t>(j)]);
  const MatrixXd to_open = across.under(belief_, scores_, columns);
  const VectorXd mean = columns + answered_.matrixL().solve(to_open.topRows(surprise_.size())).transpose() * surprise_;
  const VectorXd explained = all_.matrixL().solve(to_open).colwise().squaredNorm();
  for (Index j = 0; j < promise.size(); ++j) {
    const double deviation = std::sqrt(std::max(1e-8, belief_.prior_variance(columns[j]) - explained[j]));
    promise[j] = log_sum(promise[j], log_evidence_ + log_expected_improvement(mean[j], deviation, 0));
  }
}

}  // namespace xtune::search

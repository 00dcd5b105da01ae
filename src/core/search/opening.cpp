// Beliefs about a device, one a source, and the expected improvement under all of them.
#include "core/search/opening.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/search/expected_improvement.hpp"

namespace xtune {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The pool: of each source the best, and the next best of each way, as far as there is room; and some at even distances
// from best to worst, for a device that is like none.
constexpr std::size_t best_of_all = 500, next_of_way = 50, most_of_source = 2000, spread_of_source = 100;

// A priori standard deviations, in logarithms of time.
constexpr double level_deviation = 10;    // of the unknown factor
constexpr double spread_deviation = 0.2;  // of how much larger differences are here than there, relative
constexpr double way_deviation = 0.6;     // of a way's surplus
constexpr double smooth_deviation = 0.5;  // of the smooth difference
constexpr double alone_deviation = 0.4;   // of the same where no source is believed, and all places are alike
constexpr double noise_deviation = 0.02;
constexpr double length = 0.7;  // of the smooth difference, where a feature's range is 1

// Values are logarithms of time over the best, pressed together from here on.
constexpr double knee = 1, slope_beyond = 0.1;

double square(double value) { return value * value; }

double value_of(const SearchResult& result, double best_ms) {
  if (result.kind == SearchResult::Kind::failed) return knee;
  const double value = std::log(result.time_ms / best_ms);
  return value <= knee ? value : knee + slope_beyond * (value - knee);
}

struct Belief {
  std::optional<std::size_t> source;  // unset: in none
  double smooth_deviation;
  double score(const std::vector<double>& of_sources) const { return source ? of_sources[*source] : 0; }
};

// log(exp(a) + exp(b))
double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return std::isinf(most) ? most : most + std::log1p(std::exp(std::min(a, b) - most));
}

}  // namespace

/// Covariances between rows (places with results, then places under way) and columns.
class Opening::Covariance {
 public:
  template <class Columns>
  Covariance(const std::vector<Place>& rows, const Columns& columns)
      : level_(static_cast<Index>(rows.size()), static_cast<Index>(columns.size())),
        likeness_(level_.rows(), level_.cols()) {
    for (Index i = 0; i < level_.rows(); ++i)
      for (Index j = 0; j < level_.cols(); ++j)
        compare(rows[static_cast<std::size_t>(i)], columns[static_cast<std::size_t>(j)], level_(i, j), likeness_(i, j));
  }
  MatrixXd under(const Belief& belief, const VectorXd& rows, const VectorXd& columns) const {
    return level_ + square(belief.smooth_deviation) * likeness_ + square(spread_deviation) * rows * columns.transpose();
  }
  static double prior(const Belief& belief, double score) {
    return square(level_deviation) + square(way_deviation) + square(belief.smooth_deviation) +
           square(spread_deviation * score);
  }

 private:
  // likeness: Matern 5/2.
  static void compare(const Place& a, const Place& b, double& level, double& likeness) {
    double distance = 0;
    for (std::size_t i = 0; i < a.point.size(); ++i) distance += square(a.point[i] - b.point[i]);
    distance = std::sqrt(5 * distance);
    level = square(level_deviation) + (a.way == b.way ? square(way_deviation) : 0);
    likeness = (1 + distance + distance * distance / 3) * std::exp(-distance);
  }
  static void compare(const Place& a, const Place* b, double& level, double& likeness) {
    compare(a, *b, level, likeness);
  }

  MatrixXd level_, likeness_;
};

Opening::Opening(const Space& space, const Features& features, const Guidance& guidance)
    : space_(space), features_(features), guidance_(guidance) {
  std::unordered_set<std::uint64_t> in_pool;
  for (const Guide& guide : guidance.guides()) {
    std::unordered_map<std::uint64_t, std::size_t> of_way;
    std::size_t taken = 0;
    for (const std::uint64_t index : guide.order()) {
      if (taken == most_of_source) break;
      if (taken >= best_of_all && of_way[way_of(space_.value_indices(index))]++ >= next_of_way) continue;
      ++taken;
      if (in_pool.insert(index).second) pool_.push_back(place(index));
    }
    for (std::size_t i = 0; i < spread_of_source && taken < guide.order().size(); ++i) {
      const std::uint64_t index = guide.order()[(2 * i + 1) * guide.order().size() / (2 * spread_of_source)];
      if (in_pool.insert(index).second) pool_.push_back(place(index));
    }
  }
}

std::uint64_t Opening::way_of(const Digits& digits) const {
  std::uint64_t way = 0;
  for (std::size_t i = 0; i < digits.size(); ++i)
    if (guidance_.is_switch(i)) way = way * (most_switch_values + 1) + digits[i] + 1;
  return way;
}

Opening::Place Opening::place(std::uint64_t index) const {
  const Digits digits = space_.value_indices(index);
  Place place{index, way_of(digits), std::vector<float>(features_.plain_count()), &guidance_.scores(index)};
  features_.plain(digits, place.point.data());
  for (float& value : place.point) value /= static_cast<float>(length);
  return place;
}

std::optional<std::uint64_t> Opening::next(std::span<const SearchResult> results,
                                           std::span<const std::uint64_t> under_way,
                                           const std::function<bool(std::uint64_t)>& known) const {
  std::vector<const Place*> open;
  for (const Place& place : pool_)
    if (!known(place.index)) open.push_back(&place);
  if (open.empty()) return std::nullopt;

  std::vector<Place> seen;
  std::vector<double> values;
  double best_ms = std::numeric_limits<double>::infinity();
  for (const SearchResult& result : results)
    if (result.kind == SearchResult::Kind::measured) best_ms = std::min(best_ms, result.time_ms);
  for (const SearchResult& result : results) {
    if (result.kind != SearchResult::Kind::failed && std::isinf(best_ms)) continue;  // a bound above nothing
    seen.push_back(place(result.index));
    values.push_back(value_of(result, best_ms));
  }
  for (const std::uint64_t index : under_way) seen.push_back(place(index));
  if (seen.empty()) {
    const auto sum = [](const Place* place) {
      return std::pair(std::accumulate(place->scores->begin(), place->scores->end(), 0.0), place->index);
    };
    return (*std::min_element(open.begin(), open.end(),
                              [&](const Place* a, const Place* b) { return sum(a) < sum(b); }))
        ->index;
  }
  // Since the level is unknown, the first under way may stand for it until there are results.
  if (values.empty()) values.push_back(0);

  const Covariance within(seen, seen), across(seen, open);
  const auto answered = static_cast<Index>(values.size());
  VectorXd promise = VectorXd::Constant(static_cast<Index>(open.size()), -std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i <= guidance_.guides().size(); ++i) {
    const Belief belief =
        i < guidance_.guides().size() ? Belief{i, smooth_deviation} : Belief{std::nullopt, alone_deviation};
    VectorXd rows(static_cast<Index>(seen.size())), columns(promise.size());
    for (Index k = 0; k < rows.size(); ++k) rows[k] = belief.score(*seen[static_cast<std::size_t>(k)].scores);
    for (Index k = 0; k < columns.size(); ++k) columns[k] = belief.score(*open[static_cast<std::size_t>(k)]->scores);
    MatrixXd own = within.under(belief, rows, rows);
    own.diagonal().array() += square(noise_deviation);
    const MatrixXd to_open = across.under(belief, rows, columns);
    // What is under way makes a belief surer, not different.
    const Eigen::LLT<MatrixXd> all(own), some(own.topLeftCorner(answered, answered));
    const VectorXd surprise =
        some.matrixL().solve(Eigen::Map<const VectorXd>(values.data(), answered) - rows.head(answered));
    const double log_evidence = -0.5 * surprise.squaredNorm() - some.matrixLLT().diagonal().array().log().sum();
    const VectorXd mean = columns + some.matrixL().solve(to_open.topRows(answered)).transpose() * surprise;
    const VectorXd explained = all.matrixL().solve(to_open).colwise().squaredNorm();
    for (Index j = 0; j < promise.size(); ++j) {
      const double deviation = std::sqrt(std::max(1e-8, Covariance::prior(belief, columns[j]) - explained[j]));
      promise[j] = log_sum(promise[j], log_evidence + log_expected_improvement(mean[j], deviation, 0));
    }
  }
  Index best = 0;
  promise.maxCoeff(&best);
  return open[static_cast<std::size_t>(best)]->index;
}

}  // namespace xtune

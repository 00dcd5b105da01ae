// Beliefs about a device, one for each source, and the expected improvement under all of them.
//
// A guided search has records of other devices or problem sizes (sources) and few own results. It is unknown
// which source is similar, so each possibility is a hypothesis: each belief is a Gaussian process around one source's
// scores, and one belief is that no source is similar. The results weight the beliefs (Bayesian model averaging, see
// the header); the expected improvement under the mixture selects the next place. One method thus handles a perfect
// source, several contradictory ones, and worthless ones, for which Following stops the opening.
//
// Values are logarithms of time over the best time so far. Beyond a factor of e (knee = 1) they are compressed by
// slope_beyond, because the slowness of a bad configuration gives little information about the best ones; a failure
// counts as the knee. The candidates are a pool rather than the whole space: the best of each source, the best few of
// each combination of switches, and some at even distances. This keeps a step within milliseconds.
//
// Constants (pool sizes, length, knee, negligible) were chosen on recorded spaces; docs/search.md states the results
// and which of them are not held out.
#include "core/search/opening.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "core/search/model.hpp"

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

/// A normal prior, in logarithms of time: this device differs from one source by an unknown factor, an offset for each
/// implementation, and a smooth difference. Without a source all configurations are equal a priori.
struct Belief {
  std::optional<std::size_t> source;
  double way_deviation;     ///< of an implementation's offset
  double smooth_deviation;  ///< of the smooth difference
  double spread_deviation;  ///< of the relative scale of differences here and at the source

  double score(const Place& place) const { return source ? (*place.scores)[*source] : 0; }
  double prior_variance(double score) const {
    return square(level_deviation) + square(way_deviation) + square(smooth_deviation) +
           square(spread_deviation * score);
  }
};

/// The belief that no source is similar to this device, then for each source that it is loosely similar, and closely.
std::vector<Belief> beliefs_in(std::size_t sources) {
  std::vector<Belief> beliefs{{std::nullopt, 0.6, 0.4, 0}};
  for (std::size_t i = 0; i < sources; ++i) {
    beliefs.push_back({i, 0.6, 0.5, 0.2});
    beliefs.push_back({i, 0.2, 0.2, 0.2});
  }
  return beliefs;
}

/// The covariance of two sets of places under any belief.
class Covariance {
 public:
  Covariance(const std::vector<Place>& rows, const std::vector<const Place*>& columns);
  /// Given the places' scores under the belief.
  Eigen::MatrixXd under(const Belief& belief, const Eigen::VectorXd& rows, const Eigen::VectorXd& columns) const;

 private:
  Eigen::MatrixXd same_way_, likeness_;
};

/// A belief after the results. The first places have values; the others are outstanding, which reduces the variance but
/// does not change the mean.
class BeliefPosterior {
 public:
  BeliefPosterior(const Belief& belief, const std::vector<Place>& places, const std::vector<double>& values,
                  const Covariance& within);
  double log_evidence() const noexcept { return log_evidence_; }
  /// Adds to `promise`, which has a logarithm for each of `open`, the expected improvement upon 0 times the evidence.
  /// across: of the constructor's places and `open`.
  void add_promise(const Covariance& across, const std::vector<const Place*>& open, Eigen::VectorXd& promise) const;

 private:
  Belief belief_;
  Eigen::VectorXd scores_;
  Eigen::LLT<Eigen::MatrixXd> all_, answered_;  // of the covariances of all places, and of those with values
  Eigen::VectorXd surprise_;                    // whitened values
  double log_evidence_ = 0;
};

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

// The pool: of each source the best, and the next best of each implementation, as far as there is room; and some at
// even distances from best to worst, for a device that is similar to none.
constexpr std::size_t best_of_all = 500, next_of_way = 50, max_of_source = 2000, spread_of_source = 100;

constexpr double length = 0.7;  // of smooth differences, for a feature's range of 1

// A belief whose log evidence is less than the best one's by this much does not count.
constexpr double negligible = 12;

// Values are logarithms of time over the best, compressed from here on.
constexpr double knee = 1, slope_beyond = 0.1;

double value_of(const SearchResult& result, double best_ms) {
  if (result.kind == SearchResult::Kind::failed) return knee;
  const double value = std::log(result.time_ms / best_ms);
  return value <= knee ? value : knee + slope_beyond * (value - knee);
}

std::vector<const Place*> pointers_to(const std::vector<Place>& places) {
  std::vector<const Place*> pointers;
  for (const Place& place : places) pointers.push_back(&place);
  return pointers;
}

// Following: losses, and the allowed number of them.
constexpr double lost_in_part = 0.3;
constexpr double improvement = 0.02;           // of the best time, relative: less is hardly an improvement
constexpr double max_support_lost = 3;         // proposals, for any support
constexpr double share_of_under_way = 0.125;   // additional allowance for each outstanding proposal of the strategy
constexpr std::uint64_t max_for_each_own = 2;  // proposals of the sources for each of the strategy
constexpr std::uint64_t last_proposal = 60;

}  // namespace

Opening::Opening(const space::Space& space, const Features& features, const Guidance& guidance)
    : space_(space), features_(features), guidance_(guidance) {
  std::unordered_set<std::uint64_t> in_pool;
  for (const Guide& guide : guidance.guides()) {
    std::unordered_map<std::uint64_t, std::size_t> of_way;
    std::size_t taken = 0;
    for (const std::uint64_t index : guide.order()) {
      if (taken == max_of_source) break;
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
    if (guidance_.is_switch(i)) way = way * (max_switch_values + 1) + digits[i] + 1;
  return way;
}

Place Opening::place(std::uint64_t index) const {
  const Digits digits = space_.value_indices(index);
  Place place{index, way_of(digits), std::vector<float>(features_.plain_count()), &guidance_.scores(index)};
  features_.plain(digits, place.point.data());
  for (float& value : place.point) value /= static_cast<float>(length);
  return place;
}

Opening::Seen Opening::seen(std::span<const SearchResult> results) const {
  Seen seen;
  double best_ms = std::numeric_limits<double>::infinity();
  for (const SearchResult& result : results)
    if (result.kind == SearchResult::Kind::measured) best_ms = std::min(best_ms, result.time_ms);
  for (const SearchResult& result : results) {
    if (result.kind != SearchResult::Kind::failed && std::isinf(best_ms)) continue;  // a bound only
    seen.places.push_back(place(result.index));
    seen.values.push_back(value_of(result, best_ms));
  }
  return seen;
}

double Opening::support(std::span<const SearchResult> results) const {
  std::vector<SearchResult> timed;
  for (const SearchResult& result : results)
    if (result.kind != SearchResult::Kind::failed) timed.push_back(result);
  const Seen rows = seen(timed);
  if (rows.places.empty()) return 0;
  const Covariance within(rows.places, pointers_to(rows.places));
  double best = -std::numeric_limits<double>::infinity(), none = 0;
  for (const Belief& belief : beliefs_in(guidance_.guides().size())) {
    const double log_evidence = BeliefPosterior(belief, rows.places, rows.values, within).log_evidence();
    if (belief.source)
      best = std::max(best, log_evidence);
    else
      none = log_evidence;
  }
  return best - none;
}

std::optional<std::uint64_t> Opening::next(std::span<const SearchResult> results,
                                           std::span<const std::uint64_t> under_way,
                                           const std::function<bool(std::uint64_t)>& known) const {
  std::vector<const Place*> open;
  for (const Place& place : pool_)
    if (!known(place.index)) open.push_back(&place);
  if (open.empty()) return std::nullopt;

  Seen rows = seen(results);
  for (const std::uint64_t index : under_way) rows.places.push_back(place(index));
  if (rows.places.empty()) {
    const auto sum = [](const Place* place) {
      return std::pair(std::accumulate(place->scores->begin(), place->scores->end(), 0.0), place->index);
    };
    return (*std::min_element(open.begin(), open.end(),
                              [&](const Place* a, const Place* b) { return sum(a) < sum(b); }))
        ->index;
  }
  // Since the level is unknown, the first outstanding place may represent it until there are results.
  if (rows.values.empty()) rows.values.push_back(0);

  const Covariance within(rows.places, pointers_to(rows.places)), across(rows.places, open);
  std::vector<BeliefPosterior> posteriors;
  double highest = -std::numeric_limits<double>::infinity();
  for (const Belief& belief : beliefs_in(guidance_.guides().size())) {
    posteriors.emplace_back(belief, rows.places, rows.values, within);
    highest = std::max(highest, posteriors.back().log_evidence());
  }
  Eigen::VectorXd promise =
      Eigen::VectorXd::Constant(static_cast<Eigen::Index>(open.size()), -std::numeric_limits<double>::infinity());
  for (const BeliefPosterior& posterior : posteriors)
    if (posterior.log_evidence() > highest - negligible) posterior.add_promise(across, open, promise);
  Eigen::Index best = 0;
  promise.maxCoeff(&best);
  return open[static_cast<std::size_t>(best)]->index;
}

bool Following::over() const { return own_ + theirs_ >= last_proposal; }

bool Following::allows(double support) const {
  if (over() || theirs_ > max_for_each_own * own_) return false;
  // In a large batch, one more lost proposal delays the strategy by less.
  const double batch = 1 + share_of_under_way * static_cast<double>(own_under_way_.size());
  const double allowed = std::clamp(support, 0.0, max_support_lost) * batch;
  return lost_ + static_cast<double>(theirs_under_way_.size() + unjudged_.size()) + 1 <= allowed;
}

void Following::proposed(std::uint64_t index, bool by_sources) {
  (by_sources ? theirs_under_way_ : own_under_way_).insert(index);
  ++(by_sources ? theirs_ : own_);
}

bool Following::observe(const SearchResult& result) {
  const bool measured = result.kind == SearchResult::Kind::measured, theirs = theirs_under_way_.erase(result.index) > 0;
  if (theirs) {
    unjudged_.push_back(result);
  } else {
    own_under_way_.erase(result.index);
    if (measured) own_best_ms_ = std::min(own_best_ms_, result.time_ms);
  }
  if (!std::isinf(own_best_ms_)) judge();
  best_ms_ = std::min(best_ms_, own_best_ms_);
  return theirs;
}

void Following::judge() {
  for (const SearchResult& result : unjudged_) {
    const bool measured = result.kind == SearchResult::Kind::measured;
    if (!measured || result.time_ms >= own_best_ms_)
      lost_ += 1;
    else if (result.time_ms > best_ms_ * (1 - improvement))
      lost_ += lost_in_part;
    if (measured) best_ms_ = std::min(best_ms_, result.time_ms);
  }
  unjudged_.clear();
}

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

std::optional<std::uint64_t> predicted_best(const space::Space& space, std::span<const Source> sources) {
  const Features features(space);
  base::Random random(1);
  const Guidance guidance(space, features, sources, random);
  if (!guidance.empty()) return Opening(space, features, guidance).next({}, {}, [](std::uint64_t) { return false; });
  const auto time_of = [&](const Observation& each) {
    return each.outcome == Outcome::ok ? each.time_ms : std::numeric_limits<double>::infinity();
  };
  for (const Source& source : sources) {  // a few times only
    const auto best = std::ranges::min_element(source.observations, {}, time_of);
    if (best != source.observations.end() && std::isfinite(time_of(*best))) return best->index;
  }
  return std::nullopt;
}

SourceProposals::SourceProposals(const space::Space& space, const Features& features, std::span<const Source> sources,
                                 std::uint64_t seed)
    : random_(base::mix64(~seed)), guidance_(space, features, sources, random_) {
  if (!guidance_.empty()) opening_.emplace(space, features, guidance_);
}

std::optional<std::uint64_t> SourceProposals::next(std::span<const SearchResult> results,
                                                   std::span<const std::uint64_t> under_way,
                                                   const std::function<bool(std::uint64_t)>& known) {
  if (opening_ && following_.over()) opening_.reset();
  if (!opening_ || !following_.allows(opening_->support(results))) return std::nullopt;
  return opening_->next(results, under_way, known);
}

}  // namespace xtune::search

// Beliefs about a device, one for each source, and the expected improvement under all of them.
//
// A guided search has records of other devices or problem sizes (sources) and few own results. It is unknown
// which source is similar, so each possibility is a hypothesis: each belief is a Gaussian process around one source's
// scores, and one belief is that no source is similar. The results weight the beliefs (Bayesian model averaging, see
// the header); the expected improvement under the mixture selects the next place. One method thus handles a perfect
// source, several contradictory ones, and worthless ones, for which following.hpp stops the opening.
//
// Values are logarithms of time over the best time so far. Beyond a factor of e (knee = 1) they are compressed by
// slope_beyond, because the slowness of a bad configuration gives little information about the best ones; a failure
// counts as the knee. The candidates are a pool rather than the whole space: the best of each source, the best few of
// each combination of switches, and some at even distances. This keeps a step within milliseconds.
//
// Constants (pool sizes, length, knee, negligible) were chosen on recorded spaces; docs/search.md states the results
// and which of them are not held out.
#include "core/search/opening.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/search/belief.hpp"

namespace xtune::search {

namespace {

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

}  // namespace xtune::search

// Budget, repetition and unusual results, implemented once for all strategies.
#include "core/search/budgeted.hpp"

#include <algorithm>
#include <cmath>

#include "core/search/moves.hpp"

namespace xtune::search {

BudgetedSearch::BudgetedSearch(const StrategyOptions& options)
    : space_(options.space),
      evals_(options.evals),
      random_(base::mix64(options.seed)),
      order_(options.space.size(), options.seed),
      features_(options.space),
      sources_(options.space, features_, options.sources, options.seed),
      first_(options.first) {
  std::reverse(first_.begin(), first_.end());
}

std::vector<std::uint64_t> BudgetedSearch::propose(std::size_t max) {
  std::vector<std::uint64_t> indices;
  while (indices.size() < max && proposed_ < evals_) {
    std::optional<std::uint64_t> index;
    while (!index && !first_.empty()) {
      if (first_.back() < space_.size() && !known(first_.back())) index = first_.back();
      first_.pop_back();
    }
    const bool first = index.has_value();
    if (!index) index = sources_.next(results_, outstanding_, [this](std::uint64_t other) { return known(other); });
    const bool by_sources = index && !first;
    if (!index) index = next();
    if (!index || *index >= space_.size() || known(*index)) index = fresh();
    if (!index) break;
    if (!first) sources_.proposed(*index, by_sources);
    known_.insert(*index);
    outstanding_.push_back(*index);
    indices.push_back(*index);
    ++proposed_;
  }
  return indices;
}

bool BudgetedSearch::offer(std::uint64_t index) {
  if (index >= space_.size() || known(index)) return false;
  first_.push_back(index);
  return true;
}

void BudgetedSearch::observe(const Observation& observation) {
  if (observation.index >= space_.size() || !observed_.insert(observation.index).second) return;
  known_.insert(observation.index);
  if (const auto found = std::find(outstanding_.begin(), outstanding_.end(), observation.index);
      found != outstanding_.end())
    outstanding_.erase(found);
  SearchResult result{observation.index, SearchResult::Kind::failed, 0, observation.compile_s};
  const bool sane = std::isfinite(observation.time_ms) && observation.time_ms > 0;
  if (sane && observation.outcome == Outcome::ok) result.kind = SearchResult::Kind::measured;
  if (sane && observation.outcome == Outcome::pruned) result.kind = SearchResult::Kind::bound;
  if (result.kind != SearchResult::Kind::failed) result.time_ms = observation.time_ms;
  results_.push_back(result);
  failures_.add(space_.value_indices(result.index), result.kind == SearchResult::Kind::failed);
  if (result.kind == SearchResult::Kind::measured && (!best_ || result.time_ms < results_[*best_].time_ms))
    best_ = results_.size() - 1;
  sources_.observe(result);
  learn(result);
}

std::optional<std::uint64_t> BudgetedSearch::fresh() {
  while (drawn_ < order_.size()) {
    const std::uint64_t index = order_(drawn_++);
    if (!known(index)) return index;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> BudgetedSearch::unknown_near(std::uint64_t index) {
  constexpr int draws = 24;
  std::optional<std::uint64_t> doubtful;
  std::uint64_t at = index;
  for (int draw = 0; draw < draws; ++draw) {
    if (!known(at)) {
      if (!failures_.likely(space_.value_indices(at))) return at;
      doubtful = at;
      // If all others are known to fail too, failures must not end the search.
      if (random_.below(8) == 0) return at;
    }
    // Increasing distance: every few draws add a step.
    at = index;
    for (int step = 0; step <= draw / 8; ++step) at = random_step(space_, at, random_).value_or(at);
  }
  return doubtful;
}

}  // namespace xtune::search

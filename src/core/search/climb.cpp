// Hill climbing: look at the neighbours of the best known place, move when one is better, start elsewhere when none is.
#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/random.hpp"
#include "core/search/permutation.hpp"
#include "core/search/strategies.hpp"

namespace xtune {

namespace {

struct ClimbOptions {
  std::uint64_t samples = 1;  ///< random configurations before the first climb
  std::uint64_t starts =
      0;  ///< climbs that begin at the best of what is known, before random restarts take turns with such
};

// Proposals never wait while the budget lasts: where the neighbourhood is used up but its results are still out, random
// configurations keep the compilers busy, and serve as starts of later climbs.
class Climb : public Strategy {
 public:
  Climb(const StrategyOptions& options, ClimbOptions climb)
      : space_(options.space),
        evals_(options.evals),
        climb_(climb),
        random_(mix64(options.seed)),
        order_(options.space.size(), options.seed) {}

  std::vector<std::uint64_t> propose(std::size_t max) override {
    std::vector<std::uint64_t> indices;
    while (indices.size() < max && proposed_ < evals_) {
      const std::optional<std::uint64_t> index = next();
      if (!index) break;
      known_.insert(*index);
      outstanding_.insert(*index);
      indices.push_back(*index);
      ++proposed_;
    }
    return indices;
  }

  void observe(const Observation& observation) override {
    known_.insert(observation.index);
    outstanding_.erase(observation.index);
    if (observation.outcome != Outcome::ok) return;
    if (!times_.emplace(observation.index, observation.time_ms).second) return;
    if (!around_.contains(observation.index)) random_starts_.push_back(observation.index);
    if (centre_ && observation.time_ms < times_.at(*centre_) && around_.contains(observation.index))
      move_to(observation.index);
    if (!centre_ && !sampling()) restart();
  }

 private:
  bool sampling() const { return proposed_ < climb_.samples; }

  std::optional<std::uint64_t> next() {
    if (sampling()) return fresh();
    for (;;) {
      while (!queue_.empty()) {
        const std::uint64_t index = queue_.back();
        queue_.pop_back();
        if (!known_.contains(index)) return index;
      }
      // The climb is over only when the last of its neighbours is back and none was better.
      const bool waiting = std::any_of(outstanding_.begin(), outstanding_.end(),
                                       [this](std::uint64_t index) { return around_.contains(index); });
      if ((centre_ && waiting) || !restart()) return fresh();
    }
  }

  // The next configuration of the random order that is not known.
  std::optional<std::uint64_t> fresh() {
    while (drawn_ < order_.size()) {
      const std::uint64_t index = order_(drawn_++);
      if (!known_.contains(index)) return index;
    }
    return std::nullopt;
  }

  void move_to(std::uint64_t index) {
    centre_ = index;
    expanded_.insert(index);
    queue_ = space_.neighbours(index);
    around_.clear();
    around_.insert(queue_.begin(), queue_.end());
    for (std::size_t i = queue_.size(); i > 1; --i) std::swap(queue_[i - 1], queue_[random_.below(i)]);
  }

  // Leaves the local optimum. False: nothing that has come back is worth a climb, so an unknown configuration comes
  // next.
  bool restart() {
    centre_.reset();
    around_.clear();
    const bool best_first = climbs_ < climb_.starts || (climb_.starts > 0 && climbs_ % 2 == 0);
    const std::optional<std::uint64_t> start = best_first ? best_unexpanded() : next_random_start();
    if (!start) return false;
    ++climbs_;
    move_to(*start);
    return true;
  }

  std::optional<std::uint64_t> best_unexpanded() const {
    std::optional<std::uint64_t> best;
    for (const auto& [index, time] : times_) {
      if (expanded_.contains(index)) continue;
      if (!best || time < times_.at(*best) || (time == times_.at(*best) && index < *best)) best = index;
    }
    return best;
  }

  std::optional<std::uint64_t> next_random_start() {
    while (!random_starts_.empty()) {
      const std::uint64_t index = random_starts_.front();
      random_starts_.pop_front();
      if (!expanded_.contains(index)) return index;
    }
    return std::nullopt;
  }

  const Space& space_;
  std::uint64_t evals_;
  ClimbOptions climb_;
  Random random_;
  Permutation order_;
  std::uint64_t drawn_ = 0, proposed_ = 0, climbs_ = 0;
  std::unordered_set<std::uint64_t> known_, outstanding_, expanded_, around_;
  std::unordered_map<std::uint64_t, double> times_;  // of those that ran
  std::deque<std::uint64_t> random_starts_;          // drawn at random, ran, in the order in which they came back
  std::optional<std::uint64_t> centre_;
  std::vector<std::uint64_t> queue_;  // neighbours of the centre, in random order
};

}  // namespace

std::unique_ptr<Strategy> make_local_strategy(const StrategyOptions& options) {
  return std::make_unique<Climb>(options, ClimbOptions{});
}

std::unique_ptr<Strategy> make_auto_strategy(const StrategyOptions& options) {
  if (options.space.size() <= options.evals) return make_random_strategy(options);
  return std::make_unique<Climb>(options, ClimbOptions{std::max<std::uint64_t>(1, options.evals / 5), 5});
}

}  // namespace xtune

// Hill climbing: evaluates the neighbours of a place, moves if one is better, and starts elsewhere if none is.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "core/search/budgeted.hpp"

namespace xtune::search {

namespace {

// Proposals never wait: if the neighbourhood is used up but its results are outstanding, random configurations keep the
// compilers busy, and serve as starts of later climbs.
class Climb : public BudgetedSearch {
 public:
  using BudgetedSearch::BudgetedSearch;

 protected:
  std::optional<std::uint64_t> next() override {
    if (proposed() < starts) return fresh();
    for (;;) {
      while (!queue_.empty()) {
        const std::uint64_t index = queue_.back();
        queue_.pop_back();
        if (known(index)) continue;
        if (unknown_near(index) == index) return index;
        doubtful_.push_back(index);
      }
      // The climb is over only when all results of its neighbours are known and none was better.
      const bool waiting = centre_ && std::any_of(outstanding().begin(), outstanding().end(),
                                                  [this](std::uint64_t index) { return around_.contains(index); });
      if (waiting || !restart()) return fresh();
    }
  }

  void learn(const SearchResult& result) override {
    if (result.kind != SearchResult::Kind::measured) return;
    times_.emplace(result.index, result.time_ms);
    if (!around_.contains(result.index)) random_starts_.push_back(result.index);
    if (centre_ && around_.contains(result.index) && result.time_ms < times_.at(*centre_)) move_to(result.index);
  }

 private:
  static constexpr std::uint64_t starts = 10;

  void move_to(std::uint64_t index) {
    centre_ = index;
    expanded_.insert(index);
    queue_ = space().neighbours(index);
    around_.clear();
    around_.insert(queue_.begin(), queue_.end());
    for (std::size_t i = queue_.size(); i > 1; --i) std::swap(queue_[i - 1], queue_[random().below(i)]);
  }

  // Leaves the local optimum, alternately for the best place known and for a random one. False: no result so far is
  // worth a climb.
  bool restart() {
    centre_.reset();
    around_.clear();
    doubtful_.clear();
    const auto start = climbs_ % 2 == 0 ? best_unexpanded() : random_start();
    if (!start) return false;
    ++climbs_;
    move_to(*start);
    return true;
  }

  std::optional<std::uint64_t> best_unexpanded() const {
    std::optional<std::uint64_t> found;
    for (const auto& [index, time] : times_)
      if (!expanded_.contains(index) && (!found || std::pair(time, index) < std::pair(times_.at(*found), *found)))
        found = index;
    return found;
  }

  std::optional<std::uint64_t> random_start() {
    while (!random_starts_.empty()) {
      const std::uint64_t index = random_starts_.front();
      random_starts_.pop_front();
      if (!expanded_.contains(index)) return index;
    }
    return best_unexpanded();
  }

  std::uint64_t climbs_ = 0;
  std::unordered_set<std::uint64_t> expanded_, around_;
  std::unordered_map<std::uint64_t, double> times_;  // of configurations that ran
  std::deque<std::uint64_t> random_starts_;          // in the order of their results
  std::optional<std::uint64_t> centre_;
  std::vector<std::uint64_t> queue_, doubtful_;  // neighbours of the centre, in random order
};

}  // namespace

std::unique_ptr<Strategy> make_local_strategy(const StrategyOptions& options) {
  return std::make_unique<Climb>(options);
}

}  // namespace xtune::search

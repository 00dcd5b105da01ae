// Hill climbing: evaluates the neighbours of a place, moves if one is better, and starts elsewhere if none is.
#include <algorithm>
#include <cmath>
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
  std::vector<std::uint64_t> queue_;  // neighbours of the centre, in random order
};

// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, "Optimization by Simulated Annealing", 1983).

constexpr double hot = 0.5;     // of the logarithm of time: a place half as fast again is taken with odds of e^-1
constexpr double cold = 0.002;  // below relevant differences
constexpr std::uint64_t starts = 10;

// The temperature follows the budget, not the moves, so that a run of any length ends at a low temperature.
class Annealing : public BudgetedSearch {
 public:
  using BudgetedSearch::BudgetedSearch;
  static constexpr std::uint64_t patience = 40;  // results without a move until it returns to the best

 protected:
  std::optional<std::uint64_t> next() override {
    if (proposed() < std::min(starts, evals() / 4) || !here_) return fresh();
    return unknown_near(*here_);
  }

  void learn(const SearchResult& result) override {
    ++idle_;
    if (result.kind != SearchResult::Kind::measured) return;
    const double height = std::log(result.time_ms);
    if (results().size() <= starts || !here_) {
      if (!here_ || height < height_) move_to(result.index, height);
      return;
    }
    const double done = static_cast<double>(proposed()) / static_cast<double>(std::max<std::uint64_t>(1, evals()));
    const double temperature = hot * std::pow(cold / hot, done);
    if (height <= height_ || random().uniform() < std::exp((height_ - height) / temperature))
      move_to(result.index, height);
    else if (idle_ > patience)
      move_to(results()[*best()].index, std::log(results()[*best()].time_ms));
  }

 private:
  void move_to(std::uint64_t index, double height) {
    here_ = index;
    height_ = height;
    idle_ = 0;
  }

  std::optional<std::uint64_t> here_;
  std::uint64_t idle_ = 0;
  double height_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_local_strategy(const StrategyOptions& options) {
  return std::make_unique<Climb>(options);
}

std::unique_ptr<Strategy> make_annealing_strategy(const StrategyOptions& options) {
  return std::make_unique<Annealing>(options);
}

}  // namespace xtune::search

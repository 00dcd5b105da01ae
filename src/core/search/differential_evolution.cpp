// Differential evolution on value indices (Storn and Price, "Differential Evolution", 1997).
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/search/budgeted.hpp"
#include "core/search/moves.hpp"

namespace xtune::search {

namespace {

constexpr std::size_t slot_count = 16;
constexpr double crossover = 0.7;

// best/1 of the published schemes, with a new random weight for each difference: value indices are coarse, and with one
// weight all differences would round to the same few steps. A trial takes its slot if it is better than the one that
// holds it by then.
class DifferentialEvolution : public BudgetedSearch {
 public:
  using BudgetedSearch::BudgetedSearch;

 protected:
  std::optional<std::uint64_t> next() override {
    if (proposed() < std::min<std::uint64_t>(slot_count, evals() / 3) || slots_.size() < 4) return fresh();
    const std::size_t slot = turn_++ % slots_.size();
    const std::size_t leader = random().below(2) == 0 ? best_slot() : random().below(slots_.size());
    const Digits base = space().value_indices(slots_[leader].index);
    const Digits plus = space().value_indices(slots_[random().below(slots_.size())].index);
    const Digits minus = space().value_indices(slots_[random().below(slots_.size())].index);
    Digits trial = space().value_indices(slots_[slot].index);
    const double weight = 0.4 + 0.6 * random().uniform();
    for (std::size_t i = 0; i < trial.size(); ++i) {
      if (random().uniform() >= crossover) continue;
      const double most = static_cast<double>(space().parameters()[i].values.size() - 1);
      const double wanted = base[i] + weight * (static_cast<double>(plus[i]) - static_cast<double>(minus[i]));
      // Rounded up or down at random, so that small differences count too.
      trial[i] = static_cast<std::uint32_t>(std::clamp(std::floor(wanted + random().uniform()), 0.0, most));
    }
    const auto found = unknown_near(walk_towards(space(), slots_[slot].index, trial, random()));
    if (found) slot_of_[*found] = slot;
    return found;
  }

  void learn(const SearchResult& result) override {
    const auto trial = slot_of_.find(result.index);
    if (result.kind == SearchResult::Kind::measured) {
      if (trial == slot_of_.end() && slots_.size() < slot_count) {
        slots_.push_back(result);
      } else {
        SearchResult& slot = slots_[trial == slot_of_.end() ? worst_slot() : trial->second];
        if (result.time_ms < slot.time_ms) slot = result;
      }
    }
    if (trial != slot_of_.end()) slot_of_.erase(trial);
  }

 private:
  static bool faster(const SearchResult& a, const SearchResult& b) { return a.time_ms < b.time_ms; }
  std::size_t best_slot() const {
    return static_cast<std::size_t>(std::min_element(slots_.begin(), slots_.end(), faster) - slots_.begin());
  }
  std::size_t worst_slot() const {
    return static_cast<std::size_t>(std::max_element(slots_.begin(), slots_.end(), faster) - slots_.begin());
  }

  std::vector<SearchResult> slots_;
  std::unordered_map<std::uint64_t, std::size_t> slot_of_;  // of outstanding trials
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_differential_evolution_strategy(const StrategyOptions& options) {
  return std::make_unique<DifferentialEvolution>(options);
}

}  // namespace xtune::search

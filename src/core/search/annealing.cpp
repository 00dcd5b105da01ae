// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, "Optimization by Simulated Annealing", 1983).
#include <algorithm>
#include <cmath>

#include "core/search/budgeted.hpp"

namespace xtune::search {

namespace {

constexpr double hot = 0.5;     // of the logarithm of time: a place half as fast again is taken with odds of e^-1
constexpr double cold = 0.002;  // below relevant differences
constexpr std::uint64_t starts = 10;
constexpr std::uint64_t patience = 40;  // results without a move until it returns to the best

// The temperature follows the budget, not the moves, so that a run of any length ends at a low temperature.
class Annealing : public BudgetedSearch {
 public:
  using BudgetedSearch::BudgetedSearch;

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

std::unique_ptr<Strategy> make_annealing_strategy(const StrategyOptions& options) {
  return std::make_unique<Annealing>(options);
}

}  // namespace xtune::search

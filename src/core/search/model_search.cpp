// Search with a model: the candidate of a pool with the largest expected improvement comes next.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/search/budgeted.hpp"
#include "core/search/expected_improvement.hpp"
#include "core/search/initial_design.hpp"
#include "core/search/model.hpp"
#include "core/search/strategies.hpp"

namespace xtune::search {

namespace {

constexpr std::size_t initial_results = 6;
constexpr std::size_t pool_draws = 1000;                    // random candidates
constexpr std::size_t polished = 5;                         // the best few, whose neighbours are all candidates
constexpr double min_chance = 0.005;                        // of success: a failure is never certain
constexpr std::size_t min_interval = 5, max_interval = 60;  // results between restarts of the model
constexpr std::size_t interval_part = 7;                    // or this part of the results

using MakeModel = std::unique_ptr<Model> (*)(const space::Space& space, const Features& features);

// A model of all results, and its pool of candidates.
class Proposer {
 public:
  Proposer(const BudgetedSearch& search, base::Random& random, std::unique_ptr<Model> model)
      : search_(search), random_(random), model_(std::move(model)) {}

  std::optional<std::uint64_t> next() {
    if (search_.results().size() >= next_restart_)
      restart();
    else if (search_.results().size() > learnt_)
      update();
    return choose();
  }

  // Outstanding from now on.
  void expect(std::uint64_t index) {
    if (lesson_) model_->expect(index);
  }

 private:
  const space::Space& space() const { return search_.space(); }

  void restart() {
    const std::size_t count = search_.results().size();
    next_restart_ = count + std::clamp(count / interval_part, min_interval, max_interval);
    learnt_ = count;
    lesson_.emplace(search_.results());
    pool_.clear();
    in_pool_.clear();
    expanded_.clear();
    if (space().size() <= pool_draws) {
      for (std::uint64_t index = 0; index < space().size(); ++index) add_candidate(index);
    } else {
      for (std::size_t i = 0; i < pool_draws; ++i) add_candidate(random_.below(space().size()));
      add_neighbours();
    }
    model_->restart(*lesson_, search_.outstanding(), pool_, random_);
  }

  void update() {
    learnt_ = search_.results().size();
    lesson_.emplace(search_.results());
    const std::size_t before = pool_.size();
    if (space().size() > pool_draws) add_neighbours();
    model_->extend(std::span(pool_).subspan(before));
    model_->update(*lesson_, random_);
  }

  void add_candidate(std::uint64_t index) {
    if (!search_.known(index) && in_pool_.insert(index).second) pool_.push_back(index);
  }

  void add_neighbours() {
    const auto& timed = lesson_->timed();
    for (std::size_t i = 0; i < std::min(polished, timed.size()); ++i)
      if (expanded_.insert(timed[i]).second)
        for (const std::uint64_t neighbour : space().neighbours(timed[i])) add_candidate(neighbour);
  }

  std::optional<std::uint64_t> choose() const {
    std::optional<std::uint64_t> best;
    double best_score = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (search_.known(pool_[i])) continue;
      const Prediction prediction = model_->predict(i);
      const double score = log_expected_improvement(prediction.mean, prediction.deviation + 1e-4, lesson_->best()) +
                           std::log(std::max(min_chance, 1.0 - prediction.failure));
      if (score > best_score) {
        best_score = score;
        best = pool_[i];
      }
    }
    return best;
  }

  const BudgetedSearch& search_;
  base::Random& random_;
  std::unique_ptr<Model> model_;
  std::optional<Lesson> lesson_;
  std::size_t next_restart_ = 0, learnt_ = 0;
  std::vector<std::uint64_t> pool_;
  std::unordered_set<std::uint64_t> in_pool_, expanded_;
};

class ModelSearch : public BudgetedSearch {
 public:
  ModelSearch(const StrategyOptions& options, MakeModel make_model)
      : BudgetedSearch(options),
        design_(options.space, features()),
        proposer_(*this, random(), make_model(options.space, features())) {}

 protected:
  std::optional<std::uint64_t> next() override {
    // Proposals of the sources do not count as places of the design.
    if (!best() || own_results() < initial_results) {
      const auto designed = design_.next(random());
      return designed && known(*designed) ? fresh() : designed;
    }
    const std::optional<std::uint64_t> pick = proposer_.next();
    if (pick) proposer_.expect(*pick);
    return pick;
  }

 private:
  InitialDesign design_;
  Proposer proposer_;
};

}  // namespace

std::unique_ptr<Strategy> make_bayesian_strategy(const StrategyOptions& options) {
  return std::make_unique<ModelSearch>(options, make_process_model);
}

std::unique_ptr<Strategy> make_forest_strategy(const StrategyOptions& options) {
  return std::make_unique<ModelSearch>(options, make_forest_model);
}

std::unique_ptr<Strategy> make_auto_strategy(const StrategyOptions& options) {
  if (options.space.size() <= options.evals) return make_random_strategy(options);
  return make_bayesian_strategy(options);
}

}  // namespace xtune::search

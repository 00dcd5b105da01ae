// A genetic algorithm without generations: each child joins the population as soon as it is measured.
#include <algorithm>

#include "core/search/budgeted.hpp"
#include "core/search/moves.hpp"

namespace xtune::search {

namespace {

constexpr std::size_t population_size = 20;
constexpr std::size_t tournament = 3;
constexpr std::uint64_t mutation_odds = 4;  // one in this many children takes another step

// Steady state with replacement of the worst (Whitley, "The GENITOR algorithm and selection pressure", 1989): it takes
// results in any order.
class Genetic : public BudgetedSearch {
 public:
  using BudgetedSearch::BudgetedSearch;

 protected:
  std::optional<std::uint64_t> next() override {
    if (proposed() < std::min<std::uint64_t>(population_size, evals() / 3) || population_.size() < 2) return fresh();
    const SearchResult& mother = select();
    const SearchResult& father = select();
    Digits child = space().value_indices(mother.index);
    const Digits other = space().value_indices(father.index);
    for (std::size_t i = 0; i < child.size(); ++i)
      if (random().below(2) == 0) child[i] = other[i];
    std::uint64_t index = walk_towards(space(), mother.index, child, random());
    if (random().below(mutation_odds) == 0) index = random_step(space(), index, random()).value_or(index);
    return unknown_near(index);
  }

  void learn(const SearchResult& result) override {
    if (result.kind != SearchResult::Kind::measured) return;
    const auto place =
        std::upper_bound(population_.begin(), population_.end(), result,
                         [](const SearchResult& a, const SearchResult& b) { return a.time_ms < b.time_ms; });
    population_.insert(place, result);
    if (population_.size() > population_size) population_.pop_back();
  }

 private:
  const SearchResult& select() {
    std::size_t rank = population_.size();
    for (std::size_t i = 0; i < tournament; ++i) rank = std::min<std::size_t>(rank, random().below(population_.size()));
    return population_[rank];
  }

  std::vector<SearchResult> population_;  // fastest first
};

}  // namespace

std::unique_ptr<Strategy> make_genetic_strategy(const StrategyOptions& options) {
  return std::make_unique<Genetic>(options);
}

}  // namespace xtune::search

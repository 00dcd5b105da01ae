// A genetic algorithm without generations: each child joins the population as soon as it is measured.
#include <algorithm>
#include <cmath>
#include <unordered_map>

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

// Differential evolution on value indices (Storn and Price, "Differential Evolution", 1997).

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

// Particle swarm optimisation on value indices (Kennedy and Eberhart, "Particle Swarm Optimization", 1995).

constexpr std::size_t swarm_size = 16;
constexpr double inertia = 0.6, own_pull = 1.5, common_pull = 1.5;  // a constricted swarm (Clerc and Kennedy, 2002)

struct Particle {
  std::vector<double> position, velocity;  // in value indices
  std::uint64_t best_index = 0;
  double best_time_ms = INFINITY;
};

// Asynchronous: a particle moves in its turn, whether or not its last place has been measured.
class ParticleSwarm : public BudgetedSearch {
 public:
  using BudgetedSearch::BudgetedSearch;

 protected:
  std::optional<std::uint64_t> next() override {
    if (proposed() < std::min<std::uint64_t>(swarm_size, evals() / 3) || swarm_.empty()) return fresh();
    const std::size_t turn = turn_++ % swarm_.size();
    Particle& particle = swarm_[turn];
    move(particle);
    Digits wanted;
    for (const double place : particle.position) wanted.push_back(static_cast<std::uint32_t>(std::lround(place)));
    const auto found = unknown_near(walk_towards(space(), particle.best_index, wanted, random()));
    if (found) particle_of_[*found] = turn;
    return found;
  }

  void learn(const SearchResult& result) override {
    const auto mover = particle_of_.find(result.index);
    if (result.kind == SearchResult::Kind::measured) {
      if (mover == particle_of_.end() && swarm_.size() < swarm_size) {
        const Digits digits = space().value_indices(result.index);
        swarm_.push_back(
            {{digits.begin(), digits.end()}, std::vector<double>(digits.size(), 0), result.index, result.time_ms});
      } else if (mover != particle_of_.end() && result.time_ms < swarm_[mover->second].best_time_ms) {
        swarm_[mover->second].best_index = result.index;
        swarm_[mover->second].best_time_ms = result.time_ms;
      }
    }
    if (mover != particle_of_.end()) particle_of_.erase(mover);
  }

 private:
  void move(Particle& particle) {
    const Digits own = space().value_indices(particle.best_index);
    const Digits common = space().value_indices(results()[*best()].index);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double most = static_cast<double>(space().parameters()[i].values.size() - 1);
      double& place = particle.position[i];
      double& speed = particle.velocity[i];
      speed = inertia * speed + own_pull * random().uniform() * (own[i] - place) +
              common_pull * random().uniform() * (common[i] - place);
      speed = std::clamp(speed, -most / 2, most / 2);
      place = std::clamp(place + speed, 0.0, most);
    }
  }

  std::vector<Particle> swarm_;
  std::unordered_map<std::uint64_t, std::size_t> particle_of_;  // of outstanding places
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_genetic_strategy(const StrategyOptions& options) {
  return std::make_unique<Genetic>(options);
}

std::unique_ptr<Strategy> make_differential_evolution_strategy(const StrategyOptions& options) {
  return std::make_unique<DifferentialEvolution>(options);
}

std::unique_ptr<Strategy> make_particle_swarm_strategy(const StrategyOptions& options) {
  return std::make_unique<ParticleSwarm>(options);
}

}  // namespace xtune::search

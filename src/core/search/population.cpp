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

// Members of a population take turns: a proposal is a trial of the member whose turn it is, and its result becomes the
// member's best if it is faster. Asynchronous: the turn does not wait for the result of the last trial.
template <class Member, std::size_t Size, std::size_t Least>
class InTurns : public BudgetedSearch {
 public:
  using BudgetedSearch::BudgetedSearch;

 protected:
  /// A member that begins with a random configuration.
  virtual Member begin(const SearchResult& result) const = 0;
  /// What the member tries next, which need not be valid.
  virtual Digits trial(Member& member) = 0;
  /// Receives results that are of no member's trial, once the population is complete.
  virtual void learn_other(const SearchResult&) {}

  std::optional<std::uint64_t> next() final {
    if (proposed() < std::min<std::uint64_t>(Size, evals() / 3) || members_.size() < Least) return fresh();
    const std::size_t turn = turn_++ % members_.size();
    const Digits wanted = trial(members_[turn]);
    const auto found = unknown_near(walk_towards(space(), members_[turn].best.index, wanted, random()));
    if (found) member_of_[*found] = turn;
    return found;
  }

  void learn(const SearchResult& result) final {
    const auto asked = member_of_.extract(result.index);
    if (result.kind != SearchResult::Kind::measured) return;
    if (!asked.empty())
      improve(members_[asked.mapped()], result);
    else if (members_.size() < Size)
      members_.push_back(begin(result));
    else
      learn_other(result);
  }

  static void improve(Member& member, const SearchResult& result) {
    if (result.time_ms < member.best.time_ms) member.best = result;
  }

  std::vector<Member> members_;

 private:
  std::unordered_map<std::uint64_t, std::size_t> member_of_;  // of outstanding trials
  std::size_t turn_ = 0;
};

// Differential evolution on value indices (Storn and Price, "Differential Evolution", 1997).

constexpr double crossover = 0.7;

struct Slot {
  SearchResult best;
};

// best/1 of the published schemes, with a new random weight for each difference: value indices are coarse, and with one
// weight all differences would round to the same few steps. A trial takes its slot if it is better than the one that
// holds it by then.
class DifferentialEvolution : public InTurns<Slot, 16, 4> {
 public:
  using InTurns::InTurns;

 protected:
  Slot begin(const SearchResult& result) const override { return {result}; }

  Digits trial(Slot& slot) override {
    const std::size_t leader = random().below(2) == 0 ? best_slot() : random().below(members_.size());
    const Digits base = space().value_indices(members_[leader].best.index);
    const Digits plus = space().value_indices(members_[random().below(members_.size())].best.index);
    const Digits minus = space().value_indices(members_[random().below(members_.size())].best.index);
    Digits tried = space().value_indices(slot.best.index);
    const double weight = 0.4 + 0.6 * random().uniform();
    for (std::size_t i = 0; i < tried.size(); ++i) {
      if (random().uniform() >= crossover) continue;
      const double most = static_cast<double>(space().parameters()[i].values.size() - 1);
      const double wanted = base[i] + weight * (static_cast<double>(plus[i]) - static_cast<double>(minus[i]));
      // Rounded up or down at random, so that small differences count too.
      tried[i] = static_cast<std::uint32_t>(std::clamp(std::floor(wanted + random().uniform()), 0.0, most));
    }
    return tried;
  }

  void learn_other(const SearchResult& result) override {
    improve(*std::max_element(members_.begin(), members_.end(), faster), result);
  }

 private:
  static bool faster(const Slot& a, const Slot& b) { return a.best.time_ms < b.best.time_ms; }
  std::size_t best_slot() const {
    return static_cast<std::size_t>(std::min_element(members_.begin(), members_.end(), faster) - members_.begin());
  }
};

// Particle swarm optimisation on value indices (Kennedy and Eberhart, "Particle Swarm Optimization", 1995).

constexpr double inertia = 0.6, own_pull = 1.5, common_pull = 1.5;  // a constricted swarm (Clerc and Kennedy, 2002)

struct Particle {
  std::vector<double> position, velocity;  // in value indices
  SearchResult best;
};

class ParticleSwarm : public InTurns<Particle, 16, 1> {
 public:
  using InTurns::InTurns;

 protected:
  Particle begin(const SearchResult& result) const override {
    const Digits digits = space().value_indices(result.index);
    return {{digits.begin(), digits.end()}, std::vector<double>(digits.size(), 0), result};
  }

  Digits trial(Particle& particle) override {
    const Digits own = space().value_indices(particle.best.index);
    const Digits common = space().value_indices(results()[*best()].index);
    Digits wanted;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double most = static_cast<double>(space().parameters()[i].values.size() - 1);
      double& place = particle.position[i];
      double& speed = particle.velocity[i];
      speed = inertia * speed + own_pull * random().uniform() * (own[i] - place) +
              common_pull * random().uniform() * (common[i] - place);
      speed = std::clamp(speed, -most / 2, most / 2);
      place = std::clamp(place + speed, 0.0, most);
      wanted.push_back(static_cast<std::uint32_t>(std::lround(place)));
    }
    return wanted;
  }
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

// Particle swarm optimisation on value indices (Kennedy and Eberhart, "Particle Swarm Optimization", 1995).
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/search/budgeted.hpp"
#include "core/search/moves.hpp"

namespace xtune::search {

namespace {

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

std::unique_ptr<Strategy> make_particle_swarm_strategy(const StrategyOptions& options) {
  return std::make_unique<ParticleSwarm>(options);
}

}  // namespace xtune::search

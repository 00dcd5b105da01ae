// The factories behind strategies.def.
#pragma once

#include <memory>

#include "core/search/strategy.hpp"

namespace xtune::search {

/// options.evals is at most the size of the space.
using StrategyFactory = std::unique_ptr<Strategy> (*)(const StrategyOptions& options);

/// The first configurations in the order of the space.
std::unique_ptr<Strategy> make_exhaustive_strategy(const StrategyOptions& options);
/// Uniformly random without repetition, in constant memory.
std::unique_ptr<Strategy> make_random_strategy(const StrategyOptions& options);
/// Greedy hill climbing over Space::neighbours, restarted alternately from the best known place and from a random one.
std::unique_ptr<Strategy> make_local_strategy(const StrategyOptions& options);
/// Simulated annealing whose temperature follows the budget.
std::unique_ptr<Strategy> make_annealing_strategy(const StrategyOptions& options);
/// A steady-state genetic algorithm.
std::unique_ptr<Strategy> make_genetic_strategy(const StrategyOptions& options);
std::unique_ptr<Strategy> make_differential_evolution_strategy(const StrategyOptions& options);
std::unique_ptr<Strategy> make_particle_swarm_strategy(const StrategyOptions& options);
/// A Gaussian process and expected improvement.
std::unique_ptr<Strategy> make_bayesian_strategy(const StrategyOptions& options);
/// Extremely randomised trees and expected improvement.
std::unique_ptr<Strategy> make_forest_strategy(const StrategyOptions& options);
/// Combines all learning strategies above, by the success of each.
std::unique_ptr<Strategy> make_portfolio_strategy(const StrategyOptions& options);
/// All configurations in random order if the evaluations suffice; else models.
std::unique_ptr<Strategy> make_auto_strategy(const StrategyOptions& options);

}  // namespace xtune::search

// The factories behind strategies.def.
#pragma once

#include <memory>

#include "core/search/strategy.hpp"

namespace xtune {

/// What every factory is given. evals is never more than the size of the space.
struct StrategyOptions {
  const Space& space;
  std::uint64_t seed = 1;
  std::uint64_t evals = 0;
};

using StrategyFactory = std::unique_ptr<Strategy> (*)(const StrategyOptions& options);

/// The first configurations in the order of the space.
std::unique_ptr<Strategy> make_exhaustive_strategy(const StrategyOptions& options);
/// Uniform without repetition, in constant memory.
std::unique_ptr<Strategy> make_random_strategy(const StrategyOptions& options);
/// Greedy hill climbing over Space::neighbours with random restarts.
std::unique_ptr<Strategy> make_local_strategy(const StrategyOptions& options);
/// All in random order when the evaluations suffice; else a fifth of them at random, then climbs from the best few.
std::unique_ptr<Strategy> make_auto_strategy(const StrategyOptions& options);

}  // namespace xtune

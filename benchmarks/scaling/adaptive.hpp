// How well a search does that several ranks make at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/recording.hpp"

namespace xtune::scaling {

struct Quality {
  std::size_t ranks = 1;
  std::vector<double> found;  ///< after each of evals: optimum / best found, mean over recordings and seeds
};

/// The strategy shared by several ranks, with as many proposals in flight as Tuning allows for their number; a single
/// rank waits for each outcome. The evaluations are divided among all ranks.
Quality search_together(const std::vector<lab::Recording>& recordings, const std::string& strategy, std::size_t ranks,
                        const std::vector<std::uint64_t>& evals, std::size_t seeds);

}  // namespace xtune::scaling

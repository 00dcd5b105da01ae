// Targets and what guides the search on them.
#pragma once

#include <string>
#include <vector>

#include "lab/recording.hpp"
#include "synthetic.hpp"

namespace xtune::transfer {

/// One search problem: a recording and the sources that guide the search on it.
struct Scenario {
  std::string group;    ///< "devices", "alike", "mixed", "partly", "adversarial"
  std::string sources;  ///< in words
  std::vector<search::Source> guides;
};

/// Every subset of the other recordings of the target's kernel, of other devices or problems.
std::vector<Scenario> device_scenarios(const std::vector<lab::Recording>& recordings, std::size_t target);

/// Sources made from the target's own times: alike, inverted, shuffled, mirrored, misleading at the top, scarce.
std::vector<Scenario> made_scenarios(const lab::Recording& target);

/// Sources of synthetic devices, with similarities from 0.95 to -0.5, individually and together.
std::vector<Scenario> synthetic_scenarios(const lab::Recording& target, Surface surface, std::uint64_t seed);

}  // namespace xtune::transfer

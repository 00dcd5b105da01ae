// Ranks that go through one space exhaustively, on a simulated clock.
#pragma once

#include <cstdint>
#include <vector>

#include "costs.hpp"

namespace xtune::scaling {

struct Job {
  std::size_t ranks = 1;
  std::uint64_t configs = 0;
  std::vector<double> evaluation_s;  ///< compiling and measuring: of configuration i the (i modulo size)-th
  double claim_s = 0;                ///< a link on the shared filesystem
  double file_s = 0;                 ///< to ask for news in the file of one process
  DriverCosts costs;
};

struct Timing {
  double seconds = 0;  ///< until the last rank has all results
  std::uint64_t claims = 0;
};

/// Each rank is a device with a queue of configurations and a driver's thread that feeds it, reads the records of other
/// ranks and puts them in their places. BlockWalk distributes the work, as in a run. Without race, finals and what
/// follows them. Throws std::logic_error if a configuration was evaluated twice or never.
Timing simulate(const Job& job);

}  // namespace xtune::scaling

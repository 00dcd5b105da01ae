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
  double seconds = 0;  ///< until the last rank knows all
  std::uint64_t claims = 0;
};

/// Each rank is a device with a queue of configurations and a driver's thread that feeds it, reads what others
/// have stored and takes their records to their places. BlockWalk says who does what, as in a run. Without race,
/// finals and what follows them. Throws std::logic_error where a configuration was evaluated twice or never.
Timing simulate(const Job& job);

}  // namespace xtune::scaling

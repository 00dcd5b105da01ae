// What an evaluation costs the process that drives it, measured by xtune's own code in this very run.
#pragma once

#include <cstddef>

namespace xtune::scaling {

/// Seconds of the driver's thread, for each evaluation.
struct DriverCosts {
  double own_s = 0;   ///< to propose, resolve and store a configuration, without compiling and measuring
  double read_s = 0;  ///< to read the record of another process
  double walk_s = 0;  ///< to find that record's place in the sequence and to take it
};

/// A run of `evals` configurations over services that answer at once, its records read as a peer's, and the same run
/// from the store.
DriverCosts measure_costs(std::size_t evals);

}  // namespace xtune::scaling

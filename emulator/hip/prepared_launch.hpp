// A launch with copies of its arguments, as a graph keeps it.
#pragma once

#include <cstddef>
#include <vector>

#include "emulator/hip/runtime_state.hpp"
#include "emulator/program.hpp"

namespace xtune::emulator {

struct EmulatedFunction;

struct PreparedLaunch {
  const EmulatedFunction* function = nullptr;  ///< its module must still be loaded
  Launch launch;                               ///< without its arguments
  std::vector<std::byte> arguments = {};
};

/// Executes it, and adds its simulated time. module_calls.cpp
hipError_t execute(RuntimeState& state, const PreparedLaunch& prepared);

}  // namespace xtune::emulator

// Ids of runs, from the system's random numbers: a seed would give two runs the same id.
#include "core/record/attempt.hpp"

#include <fmt/core.h>

#include <random>

namespace xtune::record {

std::string new_attempt() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}", entropy(), entropy());
}

}  // namespace xtune::record

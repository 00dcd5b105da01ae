// Synthetic recordings: families of devices whose likeness is a dial.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/recording.hpp"

namespace xtune::transfer {

/// The components of a device's times. Both have switches, interactions and noise.
enum class Surface {
  bowl,    ///< a quadratic bowl whose place and axes are the device's own
  cliffs,  ///< several basins, and steps where a resource allows one block fewer
};

/// One recorded device of a synthetic kernel.
lab::Recording synthetic_recording(Surface surface, std::uint64_t seed);

/// Times of a device whose logarithm correlates with the recording's by `likeness` (-1 .. 1), as far as its own part
/// (of `seed`) does not. Configurations that fail in the recording work in part.
std::vector<search::Observation> synthetic_source(const lab::Recording& recording, Surface surface, double likeness,
                                                  std::uint64_t seed);

}  // namespace xtune::transfer

// Compiles Kokkos units in the way of Kokkos' users, and runs them on the devices of another backend, which provides
// the facts, the memory and the state.
#pragma once

#include <memory>

#include "backends/kokkos/execution_space.hpp"
#include "core/build/artifact.hpp"
#include "core/measure/device.hpp"

namespace xtune::kokkos {

/// Converts the facts to those of an execution space. A CPU's compute_units is the number of threads that Kokkos is
/// started with, and so is the maximum number of threads of a block, which limits a team; its warp_size is 1.
device::DeviceInfo as_kokkos(device::DeviceInfo device, const ExecutionSpace& space);
/// memory: the device of space.backend that the units run on.
std::unique_ptr<measure::Device> make_device(std::unique_ptr<measure::Device> memory, const ExecutionSpace& space);

/// Throws Error(unavailable) if there is no Kokkos, none with the requested execution space, or no compiler. The
/// artifacts' format is "so": shared libraries that export xtune_kokkos_unit (runtime/kokkos_abi.h).
std::unique_ptr<build::Toolchain> make_toolchain();

}  // namespace xtune::kokkos

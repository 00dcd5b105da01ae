// Runs Kokkos units on the devices of another backend, which provides the facts, the memory and the state.
#pragma once

#include <memory>

#include "backends/kokkos/execution_space.hpp"
#include "core/measure/device.hpp"

namespace xtune::kokkos {

/// Converts the facts to those of an execution space. A CPU's compute_units is the number of threads that Kokkos is
/// started with, and so is the maximum number of threads of a block, which limits a team; its warp_size is 1.
device::DeviceInfo as_kokkos(device::DeviceInfo device, const ExecutionSpace& space);
/// memory: the device of space.backend that the units run on.
std::unique_ptr<measure::Device> make_device(std::unique_ptr<measure::Device> memory, const ExecutionSpace& space);

}  // namespace xtune::kokkos

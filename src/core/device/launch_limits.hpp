// Checks before the driver is asked whether a limit of the device forbids a launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"

namespace xtune::device {

/// Resources of the kernel: from the compiler before it is loaded, from the driver after.
struct KernelNeeds {
  std::optional<int> registers;  ///< per thread
  std::optional<int> max_threads_per_block;
  std::int64_t static_shared_bytes = 0;
};

/// nullopt: no known limit forbids the launch. Otherwise a sentence with both numbers for the record: "block of 2048
/// threads exceeds device.max_threads_per_block = 1024". A device limit of 0 is unknown.
std::optional<std::string> forbidden(const Launch& launch, const KernelNeeds& kernel, const DeviceInfo& device);

/// Registers that an NVIDIA multiprocessor allocates for a block, per warp in units of 256 (occupancy data of the CUDA
/// C++ Programming Guide, every architecture since 3.0). A partly filled warp counts as a whole one.
std::int64_t registers_of_block(std::int64_t threads, int registers, int warp_size) noexcept;

}  // namespace xtune::device

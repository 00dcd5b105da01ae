// Which limit of a device forbids a launch, said before the driver is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"

namespace xtune::device {

/// What is known of the kernel: from the compiler before loading it, from the driver after.
struct KernelNeeds {
  std::optional<int> registers;  ///< per thread
  std::optional<int> max_threads_per_block;
  std::int64_t static_shared_bytes = 0;
};

/// nullopt: no known limit forbids it. Otherwise a sentence with both numbers, as it goes into the record:
/// "block of 2048 threads exceeds device.max_threads_per_block = 1024". A limit of the device that is 0 is not known.
std::optional<std::string> forbidden(const Launch& launch, const KernelNeeds& kernel, const DeviceInfo& device);

/// Registers that an NVIDIA multiprocessor sets aside for a block; they are given out per warp in units of 256
/// (occupancy data of the CUDA C++ Programming Guide, every architecture since 3.0), and a partly filled warp counts
/// whole.
std::int64_t registers_of_block(std::int64_t threads, int registers, int warp_size) noexcept;

}  // namespace xtune::device

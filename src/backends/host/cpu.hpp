// The facts of this machine's CPU, as a device.
#pragma once

#include <filesystem>

#include "core/device/device_info.hpp"

namespace xtune::host {

/// compute_units are the CPUs this process may use. The GPU's limits are those of common GPUs, so that specs written
/// for them hold: 48 KiB of shared memory without and 227 KiB with opting in, 1024 threads, 65536 registers a block.
/// l2_bytes is the last-level cache, at most 32 MiB. `root` holds proc/ and sys/; what cannot be read there stays empty
/// or 0.
device::DeviceInfo cpu_info(const std::filesystem::path& root = "/");

}  // namespace xtune::host

// The facts of this machine's CPU, as a device.
#pragma once

#include <filesystem>

#include "core/device/device_info.hpp"

namespace xtune::host {

/// compute_units is the number of CPUs that this process may use. The GPU limits are those of common GPUs, so that
/// specs written for them are valid: 48 KiB of shared memory without and 227 KiB with opting in, 1024 threads, 65536
/// registers per block. l2_bytes is the last-level cache, up to 32 MiB. `root` is the directory that holds proc/ and
/// sys/; facts that cannot be read there are empty or 0.
device::DeviceInfo cpu_info(const std::filesystem::path& root = "/");

}  // namespace xtune::host

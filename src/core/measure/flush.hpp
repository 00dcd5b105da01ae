// How much memory evicts everything else from a device's caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/device/device_info.hpp"

namespace xtune::measure {

/// Bytes to overwrite before a launch that should find cold caches.
inline std::size_t flush_bytes(const device::DeviceInfo& device) {
  // Three times the cache: write-back caches with unusual replacement keep a part of a smaller overwrite.
  return static_cast<std::size_t>(std::max<std::int64_t>(device.l2_bytes, 4 << 20)) * 3;
}

}  // namespace xtune::measure

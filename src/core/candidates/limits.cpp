// Which limit of a device forbids a launch, before and after compiling.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/candidates/resolve_state.hpp"

namespace xtune {

namespace {

using Message = std::optional<std::string>;

std::uint64_t product(const std::array<std::uint32_t, 3>& extents) {
  std::uint64_t volume = 0;
  const bool too_large =
      __builtin_mul_overflow(std::uint64_t{extents[0]} * extents[1], std::uint64_t{extents[2]}, &volume);
  return too_large ? ~std::uint64_t{0} : volume;
}

Message extents_violation(const Launch& launch, const DeviceInfo& device) {
  const std::array<std::int64_t, 3> most_grid{device.max_grid_x, device.max_grid_y, device.max_grid_z};
  const std::array<std::int64_t, 3> most_block{device.max_block_x, device.max_block_y, device.max_block_z};
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] > most_grid[i])
      return fmt::format("grid[{}] = {} exceeds the device's {}", i, launch.grid[i], most_grid[i]);
    if (launch.block[i] > most_block[i])
      return fmt::format("block[{}] = {} threads exceeds the device's {}", i, launch.block[i], most_block[i]);
  }
  const std::uint64_t threads = product(launch.block);
  if (threads > static_cast<std::uint64_t>(device.max_threads_per_block))
    return fmt::format("block = {} threads exceeds the device's {}", threads, device.max_threads_per_block);
  return std::nullopt;
}

Message cluster_violation(const Launch& launch, const DeviceInfo& device) {
  if (launch.cluster[0] == 0) return std::nullopt;
  const bool has_clusters =
      device.vendor == "nvidia" && device.arch.starts_with("sm_") && std::atoi(device.arch.c_str() + 3) >= 90;
  if (!has_clusters) return fmt::format("cluster: {} has none (they need sm_90 or newer)", device.arch);
  // 16 where the kernel opts in to a size that is not portable (CUDA C++ Programming Guide, Thread Block Clusters).
  if (product(launch.cluster) > 16)
    return fmt::format("cluster = {} blocks exceeds the device's 16", product(launch.cluster));
  for (std::size_t i = 0; i < 3; ++i)
    if (launch.grid[i] % launch.cluster[i] != 0)
      return fmt::format("cluster[{}] = {} does not divide grid[{}] = {}", i, launch.cluster[i], i, launch.grid[i]);
  return std::nullopt;
}

Message shared_violation(const Launch& launch, const ResourceUsage* usage, const DeviceInfo& device) {
  const std::int64_t most = std::max(device.shared_per_block_optin, device.shared_per_block);
  if (most <= 0) return std::nullopt;  // not known
  if (launch.shared_bytes > most)
    return fmt::format("dynamic shared memory: {} bytes, the device allows {}", launch.shared_bytes, most);
  const std::int64_t fixed = usage ? usage->static_shared_bytes.value_or(0) : 0;
  if (fixed + launch.shared_bytes > most)
    return fmt::format("shared memory: {} static + {} dynamic bytes, the device allows {}", fixed, launch.shared_bytes,
                       most);
  return std::nullopt;
}

// Registers are given out to whole warps in units of 256, so 8 for each thread (CUDA occupancy calculator, all since
// Kepler). What AMD's driver reports as registers per block is no such limit: there the compiler's own maximum of
// threads is the one that holds.
Message register_violation(const Launch& launch, const ResourceUsage& usage, const DeviceInfo& device) {
  const std::uint64_t threads = product(launch.block);
  if (usage.max_threads_per_block && threads > static_cast<std::uint64_t>(std::max(*usage.max_threads_per_block, 0)))
    return fmt::format("block = {} threads exceeds the {} that the compiled kernel allows", threads,
                       *usage.max_threads_per_block);
  if (device.vendor != "nvidia" || !usage.registers || device.registers_per_block <= 0 || device.warp_size <= 0)
    return std::nullopt;
  const auto warp = static_cast<std::uint64_t>(device.warp_size);
  const std::uint64_t each = (static_cast<std::uint64_t>(std::max(*usage.registers, 0)) + 7) / 8 * 8;
  const std::uint64_t needed = each * ((threads + warp - 1) / warp * warp);
  if (needed > static_cast<std::uint64_t>(device.registers_per_block))
    return fmt::format("registers: {} for each of {} threads make {}, the device has {} a block", *usage.registers,
                       threads, needed, device.registers_per_block);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> CandidateResolver::limit_violation(const Launch& launch, const ResourceUsage* usage) const {
  const DeviceInfo& device = state_->device;
  if (auto message = extents_violation(launch, device)) return message;
  if (auto message = cluster_violation(launch, device)) return message;
  if (auto message = shared_violation(launch, usage, device)) return message;
  return usage ? register_violation(launch, *usage, device) : std::nullopt;
}

}  // namespace xtune

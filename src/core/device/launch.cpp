// The limits of a launch.
#include "core/device/launch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace xtune::device {

namespace {

constexpr const char axis_name[] = {'x', 'y', 'z'};

/// 2^64 - 1 if it is larger than that.
std::uint64_t product(const std::array<std::uint32_t, 3>& extents) noexcept {
  std::uint64_t volume = 0;
  const bool too_large =
      __builtin_mul_overflow(std::uint64_t{extents[0]} * extents[1], std::uint64_t{extents[2]}, &volume);
  return too_large ? std::numeric_limits<std::uint64_t>::max() : volume;
}

std::optional<std::string> forbidden_shape(const Launch& launch, const DeviceInfo& device) {
  const std::int64_t max_block[] = {device.max_block_x, device.max_block_y, device.max_block_z};
  const std::int64_t max_grid[] = {device.max_grid_x, device.max_grid_y, device.max_grid_z};
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t block = launch.block[axis], grid = launch.grid[axis];
    const char name = axis_name[axis];
    if (block == 0) return fmt::format("block.{} is 0", name);
    if (grid == 0) return fmt::format("grid.{} is 0", name);
    if (max_block[axis] > 0 && block > max_block[axis])
      return fmt::format("block.{0} = {1} exceeds device.max_block_{0} = {2}", name, block, max_block[axis]);
    if (max_grid[axis] > 0 && grid > max_grid[axis])
      return fmt::format("grid.{0} = {1} exceeds device.max_grid_{0} = {2}", name, grid, max_grid[axis]);
    // HIP programming manual: blocks * threads of a dimension must stay below 2^32.
    if (device.vendor == "amd" && grid * block > std::numeric_limits<std::uint32_t>::max())
      return fmt::format("grid.{0} * block.{0} = {1} exceeds the 2^32 - 1 threads that AMD GPUs launch per dimension",
                         name, grid * block);
  }
  return std::nullopt;
}

std::optional<std::string> forbidden_cluster(const Launch& launch, const DeviceInfo& device) {
  if (!launch.cluster[0] && !launch.cluster[1] && !launch.cluster[2]) return std::nullopt;
  const auto max_blocks = static_cast<std::uint64_t>(max_cluster_blocks(device));
  if (max_blocks == 0) return fmt::format("cluster: {} has no block clusters, they need sm_90 or newer", device.arch);
  for (int axis = 0; axis < 3; ++axis) {
    const char name = axis_name[axis];
    if (launch.cluster[axis] == 0) return fmt::format("cluster.{} is 0", name);
    if (launch.grid[axis] % launch.cluster[axis] != 0)
      return fmt::format("grid.{0} = {1} is not a multiple of cluster.{0} = {2}", name, launch.grid[axis],
                         launch.cluster[axis]);
  }
  const std::uint64_t blocks = product(launch.cluster);
  if (blocks > max_blocks)
    return fmt::format("cluster of {} blocks exceeds the {} of {}", blocks, max_blocks, device.arch);
  return std::nullopt;
}

/// "64 that are resident at once (4 for each of 16 compute units)", if the limits of a compute unit that are known here
/// allow fewer blocks than the launch has. The driver, which knows them all, may allow fewer.
std::optional<std::string> forbidden_cooperative(const Launch& launch, std::int64_t threads, const KernelNeeds& kernel,
                                                 const DeviceInfo& device) {
  if (!launch.cooperative || device.compute_units <= 0) return std::nullopt;
  if (is_emulated(device)) return device.name + " has no cooperative launches";
  std::int64_t each = std::numeric_limits<std::int64_t>::max();
  const auto limit = [&](std::int64_t all, std::int64_t of_block) {
    if (all > 0 && of_block > 0) each = std::min(each, all / of_block);
  };
  const std::int64_t warp = std::max(device.warp_size, 1);
  limit(device.max_threads_per_compute_unit, (threads + warp - 1) / warp * warp);
  limit(device.shared_per_compute_unit, kernel.static_shared_bytes + launch.shared_bytes);
  if (device.vendor == "nvidia" && kernel.registers)
    limit(device.registers_per_compute_unit, registers_of_block(threads, *kernel.registers, device.warp_size));
  if (each >= std::numeric_limits<std::int64_t>::max() / device.compute_units) return std::nullopt;
  return exceeds_resident(launch, each, device);
}

}  // namespace

std::optional<std::string> exceeds_resident(const Launch& launch, std::int64_t each, const DeviceInfo& device) {
  const std::int64_t all = each * device.compute_units;
  if (launch.blocks() <= static_cast<std::uint64_t>(all)) return std::nullopt;
  return fmt::format(
      "a cooperative launch of {} blocks exceeds the {} that are resident at once (at most {} for each of "
      "device.compute_units = {})",
      launch.blocks(), all, each, device.compute_units);
}

std::int64_t registers_of_block(std::int64_t threads, int registers, int warp_size) noexcept {
  constexpr std::int64_t unit = 256;
  const std::int64_t warps = (threads + warp_size - 1) / warp_size;
  const std::int64_t per_warp = (static_cast<std::int64_t>(registers) * warp_size + unit - 1) / unit * unit;
  return warps * per_warp;
}

std::optional<std::string> forbidden(const Launch& launch, const KernelNeeds& kernel, const DeviceInfo& device) {
  if (auto reason = forbidden_shape(launch, device)) return reason;
  if (auto reason = forbidden_cluster(launch, device)) return reason;

  const std::uint64_t volume = product(launch.block);
  const auto threads =
      static_cast<std::int64_t>(std::min<std::uint64_t>(volume, std::numeric_limits<std::int64_t>::max()));
  if (device.max_threads_per_block > 0 && threads > device.max_threads_per_block)
    return fmt::format("block of {} threads exceeds device.max_threads_per_block = {}", threads,
                       device.max_threads_per_block);
  if (kernel.max_threads_per_block && *kernel.max_threads_per_block > 0 && threads > *kernel.max_threads_per_block)
    return fmt::format("block of {} threads exceeds the {} that the kernel's registers or launch bounds allow", threads,
                       *kernel.max_threads_per_block);

  const std::int64_t shared = kernel.static_shared_bytes + launch.shared_bytes;
  if (device.shared_per_block_optin > 0 && shared > device.shared_per_block_optin)
    return fmt::format("{} bytes of shared memory ({} static + {} dynamic) exceed device.shared_per_block_optin = {}",
                       shared, kernel.static_shared_bytes, launch.shared_bytes, device.shared_per_block_optin);

  // On AMD the compiler's max_flat_workgroup_size already accounts for registers, which the waves of a block share in
  // another way.
  if (device.vendor == "nvidia" && kernel.registers && device.registers_per_block > 0) {
    const std::int64_t needed = registers_of_block(threads, *kernel.registers, device.warp_size);
    if (needed > device.registers_per_block)
      return fmt::format(
          "{} registers a thread * {} threads need {} registers, more than device.registers_per_block = {}",
          *kernel.registers, threads, needed, device.registers_per_block);
  }
  return forbidden_cooperative(launch, threads, kernel, device);
}

}  // namespace xtune::device

// Control groups of this process (cgroup versions 1 and 2), and what they leave of the CPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace xtune::base {

/// This process's group in one hierarchy.
struct ControlGroup {
  int version = 2;
  /// Its own folder first, then those of the groups above it, up to the mount. A container may see the last only.
  std::vector<std::filesystem::path> folders;
};
/// Those that may limit what `controller` is about ("memory", "cpu"). root: where /proc and /sys are, for tests.
std::vector<ControlGroup> control_groups(std::string_view controller, const std::filesystem::path& root = "/");

/// How much CPU time the groups allow, in thousandths of a CPU: the least of their quotas (cpu.max, cpu.cfs_quota_us).
/// 0: no quota.
std::int64_t cpu_quota_milli(const std::filesystem::path& root = "/");

}  // namespace xtune::base

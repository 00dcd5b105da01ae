// Control groups of this process (cgroup versions 1 and 2), and the CPU time that they allow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace xtune::base {

/// This process's group in one hierarchy.
struct ControlGroup {
  int version = 2;
  /// The group's own directory first, then those of its parents, up to the mount. A container may see only the last
  /// one.
  std::vector<std::filesystem::path> folders;
};
/// The groups that may limit a controller ("memory", "cpu"). root: the directory that holds /proc and /sys, for tests.
std::vector<ControlGroup> control_groups(std::string_view controller, const std::filesystem::path& root = "/");

/// The CPU time that the groups allow, in thousandths of a CPU: the minimum of their quotas (cpu.max,
/// cpu.cfs_quota_us). 0: no quota.
std::int64_t cpu_quota_milli(const std::filesystem::path& root = "/");

}  // namespace xtune::base

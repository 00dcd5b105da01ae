// What the machine offers this process: CPUs, memory, disk space, permission to run programs, and limits on them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::system {

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

/// The CPUs this process may use.
unsigned usable_cpus();

/// Bytes: the minimum of MemAvailable (/proc/meminfo) and of the memory that the limits of this process's control group
/// and its parents leave (cgroup v2 and v1; page cache that the kernel can reclaim counts as free). Without these
/// files: 2^63 - 1. root: the directory that holds /proc and /sys, for tests.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

/// Bytes: MemTotal, all memory of the machine, regardless of its use and of control groups. Without /proc/meminfo: 2^63
/// - 1. root: as above.
std::uint64_t machine_memory_bytes(const std::filesystem::path& root = "/");

/// The maximum memory of this process since its program began, in bytes (VmHWM of /proc/self/status; the ru_maxrss of
/// getrusage includes the program that started it). 0: unknown.
std::uint64_t peak_memory_bytes();

/// The memory and swap that this process uses now, in bytes (VmRSS and VmSwap of /proc/self/status). 0: unknown.
std::uint64_t held_memory_bytes();

/// The finite limits on CPU time, file size, data and address space, and one on the stack below 8 MiB: "a limit on CPU
/// time (ulimit -t)", several joined by "and". Children inherit them. Empty: no limits. The limit of
/// limit_address_space does not count.
std::string user_limits();

/// Limits this process's address space to `bytes`. A lower limit that cannot be raised stays, and counts as the user's.
void limit_address_space(std::uint64_t bytes);

/// The errno of the reason why files cannot be written to a directory now (full, over quota, read-only, out of inodes,
/// past the limit on a file's size); 0: they can. Less than 1 MiB of free space counts as full, because whatever failed
/// a moment ago may have freed its files since. Writes and removes a file of 64 KiB.
int room_error(const std::filesystem::path& directory);

/// Whether a program in this directory may be started: false on a file system that is mounted noexec. A directory that
/// cannot be written to counts as allowing it, since room_error reports that.
bool allows_programs(const std::filesystem::path& directory);

/// The number of processes that the system has killed for lack of memory since it booted, including those in control
/// groups (/proc/vmstat). 0 if this is unknown. root: the directory that holds /proc, for tests.
std::uint64_t memory_kills(const std::filesystem::path& root = "/");

/// XTUNE_BUSY, by which a user says whether other programs use the CPUs: yes or no; nullopt: neither.
std::optional<bool> said_busy();
/// Whether a measurement on the CPUs is likely to be disturbed: said_busy(), else whether other programs use more than
/// half of the cores, over the last minute and right now. Call it before the program itself causes load. root: the
/// directory that holds /proc; cores: the number of cores (0: this machine's); both for tests.
bool is_busy(const std::filesystem::path& root = "/", int cores = 0);

/// Whether an errno means that the machine lacks a resource (processes, descriptors, memory, disk), and not that
/// something is wrong with the program that was started or the file that was written.
bool is_shortage(int error) noexcept;

/// Whether the same call may succeed in a moment.
bool may_pass_soon(int error) noexcept;

}  // namespace xtune::system

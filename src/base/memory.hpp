// How much memory this process and its children may still use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace xtune::base {

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

}  // namespace xtune::base

// How much memory this process and its children may still take.
#pragma once

#include <cstdint>
#include <filesystem>

namespace xtune::base {

/// Bytes: the least of MemAvailable (/proc/meminfo) and of what the memory limits of this process's control group and
/// of those above it leave (cgroup v2 and v1; page cache that the kernel gives back counts as free). Without any of
/// these files: 2^63 - 1. root: where /proc and /sys are, for tests.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

/// Bytes: MemTotal, all that the machine has, whatever others use of it and whatever a control group allows. Without
/// /proc/meminfo: 2^63 - 1. root: as above.
std::uint64_t machine_memory_bytes(const std::filesystem::path& root = "/");

/// The most that this process has held at once since its program began (VmHWM of /proc/self/status; the ru_maxrss of
/// getrusage counts the program that started it too). 0: not told.
std::uint64_t peak_memory_bytes();

/// What this process holds now, in memory and in swap (VmRSS and VmSwap of /proc/self/status). 0: not told.
std::uint64_t held_memory_bytes();

}  // namespace xtune::base

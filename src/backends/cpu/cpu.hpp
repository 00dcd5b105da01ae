// This machine's CPU: its facts as a device, its architecture, its compiler, and its caches.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"

namespace xtune::cpu {

/// compute_units is the number of CPUs that this process may use. The GPU limits are those of common GPUs, so that
/// specs written for them are valid: 48 KiB of shared memory without and 227 KiB with opting in, 1024 threads, 65536
/// registers per block. l2_bytes is the last-level cache, up to 32 MiB. `root` is the directory that holds proc/ and
/// sys/; facts that cannot be read there are empty or 0.
device::DeviceInfo cpu_info(const std::filesystem::path& root = "/");

/// XTUNE_HOST_CXX, else g++, else clang++, searched in PATH, else build::zig_compiler(). Throws Error(unavailable) with
/// advice on what to install.
std::string find_compiler();

/// The architectures artifacts are compiled for, weakest first: x86_64, x86_64_v2, ... (x86-64 psABI,
/// "microarchitecture levels"), or aarch64.
const std::vector<std::string>& known_host_archs();
/// The architecture of this CPU.
std::string own_arch();
/// Whether code for `arch` runs on a CPU of architecture `own`.
bool runs_on(const std::string& arch, const std::string& own);
/// "-march=x86-64-v3". Throws Error(invalid_argument) for an architecture that is unknown or of another kind of
/// machine.
std::string arch_flag(const std::string& arch);

/// Whether programs on this architecture can evict lines of memory by their addresses.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool can_evict_lines = true;
#else
inline constexpr bool can_evict_lines = false;
#endif

/// Writes the lines of this memory back, and removes them from the caches of all cores. Takes about as long as reading
/// the memory once. It must be readable. Does nothing without can_evict_lines.
void evict_lines(std::span<const std::byte> memory) noexcept;

/// Empties the translation caches of all cores, where that is possible: on x86-64. Takes about ten microseconds.
void drop_translations() noexcept;

/// Overwrites one byte of each line, which leaves an unknown part of other memory in the caches.
void overwrite_lines(std::span<std::byte> memory, std::byte value) noexcept;

}  // namespace xtune::cpu

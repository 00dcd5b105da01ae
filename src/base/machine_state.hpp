// What the machine offers a process at the moment: disk space, permission to run programs, memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace xtune::base {

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

}  // namespace xtune::base

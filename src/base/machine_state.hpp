// What the machine gives to a process now: room for files, leave to run programs, memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace xtune::base {

/// Errno of what keeps files from being written to a directory now (full, over quota, read-only, out of inodes, past
/// the limit on a file's size); 0: nothing does. Less than 1 MiB of free space counts as none: what failed a moment ago
/// may have freed its own files since. Writes and removes a file of 64 KiB.
int room_error(const std::filesystem::path& directory);

/// Whether a program in this directory may be started: false on a file system that is mounted noexec. A directory in
/// which nothing can be written counts as one that allows it, since room_error reports that.
bool allows_programs(const std::filesystem::path& directory);

/// How many processes the system has killed for memory since it booted, those of control groups included
/// (/proc/vmstat). 0 where that is unknown. root: where /proc is, for tests.
std::uint64_t memory_kills(const std::filesystem::path& root = "/");

/// How busy other programs keep the machine.
struct Load {
  double average;  ///< of the last minute: processes that ran or wanted to
  int cores;
};
/// The load where other programs take so much of the machine that times on its CPU mean little: more than half of the
/// cores, over the last minute and right now. nullopt: they do not, or nobody knows. To be asked before a program makes
/// load of its own. root: where /proc is, and cores: how many there are, for tests; 0: this machine's.
std::optional<Load> foreign_load(const std::filesystem::path& root = "/", int cores = 0);

/// Whether an errno says that the machine lacks something (processes, descriptors, memory, disk), whatever the program
/// is that was to be started or written.
bool is_shortage(int error) noexcept;

/// Whether the same call may well pass in a moment.
bool may_pass_soon(int error) noexcept;

}  // namespace xtune::base

// Locks on directories, so that processes that write the same files take turns.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "system/clock.hpp"

namespace xtune::system {

class Descriptor;

/// Holds directories exclusively among all processes that use this class, on this machine and, if the file system
/// forwards locks, on others. The locks end with the process, also if a signal kills it. A process must not lock a
/// directory twice.
class DirectoryLock {
 public:
  /// Blocks until all directories are free. Locks the directory itself, or a file .xtune.lock in it if the file system
  /// refuses that (NFS). A directory that allows neither is not locked.
  explicit DirectoryLock(std::vector<std::filesystem::path> directories);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  std::vector<std::unique_ptr<Descriptor>> held_;
};

/// Calls `listener` before this process waits for a directory (with its path) and after it has waited (with an empty
/// text), on the thread that waits. An empty function disables the calls.
void tell_of_waits(std::function<void(const std::string& directory)> listener);

/// Whether this process has waited for the directory before, which means that others write there, too.
bool has_waited_for(const std::filesystem::path& directory);

/// awake_clock() without the time that this process has waited for directories.
Clock& working_clock();

}  // namespace xtune::system

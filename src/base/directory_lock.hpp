// Turns among processes that write the same files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace xtune::base {

class Descriptor;

/// Holds directories alone among all processes that ask for them by this class, on this machine and, where the file
/// system passes locks on, on others. The end of the holder, by whatever signal, gives them back. A process must not
/// hold a directory twice.
class DirectoryLock {
 public:
  /// Blocks until all are free. Locks the directory itself, or a file .xtune.lock in it where the file system refuses
  /// that (NFS). A directory that allows neither is not locked.
  explicit DirectoryLock(std::vector<std::filesystem::path> directories);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  std::vector<std::unique_ptr<Descriptor>> held_;
};

/// `listener` is told before this process waits for a directory (its path) and after it has waited (an empty text).
/// From then on, on the thread that waits. An empty function: nobody is told.
void tell_of_waits(std::function<void(const std::string& directory)> listener);

/// Whether this process has waited for the directory before: others write there, too.
bool has_waited_for(const std::filesystem::path& directory);

/// awake_clock() less the time that this process has waited for directories.
Clock& working_clock();

}  // namespace xtune::base

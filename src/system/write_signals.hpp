// Writes that fail with an error code, without a signal that ends the process.
#pragma once

#include <csignal>

namespace xtune::system {

/// While an object of this class exists, a write of this thread to a pipe without a reader (EPIPE), or past the limit
/// on a file's size (EFBIG), fails without SIGPIPE or SIGXFSZ. Both signals go to the writing thread, where they are
/// blocked, and pending ones are removed at the end. The process's actions for these signals do not change; a process
/// that ignores them does not need this class. Nests. Must be destroyed on the thread that created it.
class WriteSignals {
 public:
  WriteSignals() noexcept;
  ~WriteSignals();
  WriteSignals(const WriteSignals&) = delete;
  WriteSignals& operator=(const WriteSignals&) = delete;

 private:
  sigset_t before_;    ///< the thread's mask
  sigset_t expected_;  ///< signals that may arrive from now on: those that were not pending before
};

}  // namespace xtune::system

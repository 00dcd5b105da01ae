// Writes that fail: an error code to who writes, and no signal that ends the process.
#pragma once

#include <csignal>

namespace xtune::base {

/// While it lives, a write of this thread to a pipe that nobody reads (EPIPE), or past the limit on a file's size
/// (EFBIG), fails without SIGPIPE or SIGXFSZ: both go to the thread that writes, where they are blocked, and what came
/// is taken away at the end. What the process does on these signals is the program's own and stays as it is; one that
/// ignores them needs none of this. Nests. Ends on the thread that made it.
class WriteSignals {
 public:
  WriteSignals() noexcept;
  ~WriteSignals();
  WriteSignals(const WriteSignals&) = delete;
  WriteSignals& operator=(const WriteSignals&) = delete;

 private:
  sigset_t before_;    ///< the thread's mask
  sigset_t expected_;  ///< what may come from now on: those that did not wait already
};

}  // namespace xtune::base

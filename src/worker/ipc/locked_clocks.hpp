// Devices whose clocks are fixed as long as an object lives.
#pragma once

#include <string>
#include <vector>

#include "system/event_loop.hpp"
#include "system/subprocess.hpp"

namespace xtune::worker {

/// A separate process fixes the clocks and restores them when this object ends, or when this process does, in any
/// way.
class LockedClocks {
 public:
  /// argv: starts a process as guard_clocks describes it (worker/worker.hpp). Throws its Error, or
  /// Error(unavailable) if it does not answer within a minute.
  explicit LockedClocks(std::vector<std::string> argv);
  /// Waits until the clocks are restored, at most a minute.
  ~LockedClocks();
  LockedClocks(const LockedClocks&) = delete;
  LockedClocks& operator=(const LockedClocks&) = delete;

  /// By device, in their order.
  const std::vector<int>& mhz() const noexcept { return mhz_; }
  /// Restores them now. Returns a warning with the commands that do it, if the process did not; else "".
  std::string restore();

 private:
  std::string next_line();  ///< "": there is none within a minute, or the process has ended

  system::EventLoop loop_;
  std::string output_, errors_;
  bool ended_ = false;
  system::Subprocess process_;
  std::vector<int> mhz_;
  std::vector<std::string> undo_;
};

/// The words of `xtune worker clocks` for these devices. mhz: 0: each device's own choice.
std::vector<std::string> clocks_worker_words(const std::string& backend, const std::vector<int>& devices, int mhz);

}  // namespace xtune::worker

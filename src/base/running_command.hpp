// One command on an event loop, from its start to its end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/subprocess.hpp"

namespace xtune::base {

class EventLoop;

/// A command that runs while its loop does. Destruction kills its group (without own_group: the child), and nothing is
/// called any more.
class RunningCommand {
 public:
  using Done = std::function<void(CommandResult)>;

  /// Starts the command, and writes and closes its stdin. done is called once, on the loop's thread, and may destroy
  /// this object; cpu_s of its result is 0. Throws CannotStart; blocks for up to a second while the system is short of
  /// processes.
  RunningCommand(EventLoop& loop, const std::vector<std::string>& argv, const CommandOptions& options, Done done);
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::base

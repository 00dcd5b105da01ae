// How the system schedules the threads of this process.
#pragma once

#include <map>
#include <vector>

namespace xtune::base {

struct ThreadState {
  int nice = 0, policy = 0;
  std::vector<unsigned char> cpus;  ///< the bits of the affinity mask
  bool operator==(const ThreadState&) const = default;
};
/// By thread id.
using ThreadStates = std::map<int, ThreadState>;

/// The states of all threads that this process has now, as far as the system reports them.
ThreadStates thread_states();

/// Whether any thread of `before` that still exists is scheduled in another way.
bool any_rescheduled(const ThreadStates& before, const ThreadStates& now);

}  // namespace xtune::base

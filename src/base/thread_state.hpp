// How the system schedules the threads of this process.
#pragma once

#include <map>
#include <vector>

namespace xtune::base {

struct ThreadState {
  int nice = 0, policy = 0;
  std::vector<unsigned char> cpus;  ///< the bits of its affinity
  bool operator==(const ThreadState&) const = default;
};
/// By thread id.
using ThreadStates = std::map<int, ThreadState>;

/// Of all threads that this process has now, as far as the system tells.
ThreadStates thread_states();

/// Whether any thread of `before` that is still there is scheduled in another way.
bool any_rescheduled(const ThreadStates& before, const ThreadStates& now);

}  // namespace xtune::base

// What a kernel can change in the process that runs it, so that other kernels fail there or are measured wrongly.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace xtune::worker {

/// A comparison of two finds what a kernel did in between. What the system does not report is not compared.
struct ProcessState {
  using Facts = std::map<std::string, std::string>;  ///< what it is, as in "changed the limits", and its value
  struct Thread {
    std::string schedule;  ///< priority, policy and affinity
    bool running = false;  ///< on a CPU, or waiting for one
  };
  Facts facts;                                            ///< of the process and of its first thread
  std::map<int, Thread> threads;                          ///< by id
  std::optional<std::map<int, std::string>> descriptors;  ///< the file of each, but for loaded kernels
  bool full = false;                                      ///< no further file can be opened
  std::size_t mappings = 0;                               ///< 0: unknown
};

/// The state of this process; takes about 0.1 ms, and 15 us for each thread.
ProcessState process_state();

struct ProcessChanges {
  /// "left 4 descriptors open, changed the limits"; empty: no fault. The threads and mappings that a runtime keeps are
  /// none.
  std::string faults;
  bool rescheduled = false;      ///< a thread that lives on has another priority or affinity
  bool threads_running = false;  ///< new threads, now
};
ProcessChanges changes(const ProcessState& before, const ProcessState& now);

}  // namespace xtune::worker

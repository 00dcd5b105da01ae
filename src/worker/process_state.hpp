// What a kernel can do to the process that runs it: change it, so that other kernels fail there or are measured
// wrongly, and take its memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

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
  std::size_t own_threads = 0;                            ///< those of the host backend, for cooperative launches
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

/// A limit of the address space cannot replace this: drivers and sanitizers map far more than they use.
class MemoryWatch {
 public:
  /// exceeded: called once, on the watch's own thread, with the bytes in use; it must end the process. held: returns
  /// the bytes that this process uses now.
  MemoryWatch(std::function<std::uint64_t()> held, std::function<void(std::uint64_t bytes)> exceeded);
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// Limits the memory of the process until end().
  void begin(std::uint64_t limit_bytes);
  /// Does not return if `exceeded` has been called.
  void end();

 private:
  void look(const std::stop_token& over);
  const std::function<std::uint64_t()> held_;
  const std::function<void(std::uint64_t)> exceeded_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<std::uint64_t> limit_bytes_;  ///< set between begin() and end()
  std::jthread thread_;                       ///< stopped before the members that it uses end
};

}  // namespace xtune::worker

// Measures the time between two events in a stream, without launch latency and the timer's own overhead; with the small
// kernels that this needs, and launches that the device executes as one graph (CUDA graphs, HIP graphs).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/gpu/driver_api.hpp"
#include "core/build/artifact.hpp"

namespace xtune::gpu {

/// The names of these kernels in their module, and their parameters in order.
namespace timing_kernel {
/// (unsigned* flags, unsigned ticket, unsigned long long ticks), one thread: waits until flags[0], which the host
/// writes, has reached the ticket; gives up after that many ticks of the device's timer, and then sets flags[1] to the
/// ticket.
inline constexpr const char* hold = "xtune_hold";
/// (unsigned long long cycles), one thread: takes that many cycles of its compute unit's clock.
inline constexpr const char* spin = "xtune_spin";
/// (unsigned long long* out, unsigned long long ticks), one thread: writes how many cycles passed to out[0], and in how
/// many ticks of the timer, at least the given ones, to out[1].
inline constexpr const char* clock = "xtune_clock";
}  // namespace timing_kernel

/// Compiles all of them at once: the artifact's entry is one of them, and its image contains the others too.
build::CompileRequest timing_request(const std::string& arch);

class Session;

/// A sequence of launches, made once and executed as often as wanted. Single-threaded; the session must outlive it, and
/// so must the modules of its kernels.
class LaunchGraph {
 public:
  /// work() queues launches into the session's stream, and nothing else; they are not executed, but become the graph.
  /// Exceptions of work pass through. Throws CandidateFailure(launch_failed) if the driver refuses, crashed if the
  /// device is lost. The driver must have graphs.
  LaunchGraph(Session& session, const std::function<void()>& work);
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;

  /// Queues it into the session's stream. Throws as the constructor does.
  void launch();

 private:
  Session& session_;
  Graph handle_ = nullptr;
};

class Session;

/// A kernel that waits for a flag of the host is queued first, so that everything timed is queued before any of it
/// starts. It gives up after a deadline by the device's timer, so that neither a slow host nor a driver that waits for
/// it can hang the device; if a driver does so three times in a row, its queue is not held again. If the kernels cannot
/// be compiled or host memory cannot be mapped, spans are plain event pairs, and info().note reports this.
/// Single-threaded.
class QueueTimer {
 public:
  /// Compiles, loads and runs the timing kernels and measures the overhead: about 30 ms, and more on a device in a
  /// low-power state. Throws CandidateFailure(crashed) if the device fails.
  explicit QueueTimer(Session& session);
  ~QueueTimer();
  QueueTimer(const QueueTimer&) = delete;
  QueueTimer& operator=(const QueueTimer&) = delete;

  /// Overwrites flush_bytes of memory, then times work(), which queues `launches` launches into the session's stream.
  /// hold = false: do not hold the queue, because work may have to wait for the device (a kernel's first launch loads
  /// it). Exceptions of work pass through. Throws CandidateFailure(crashed).
  measure::Sample time(std::size_t flush_bytes, int launches, bool hold, const std::function<void()>& work);
  /// The same for a graph of this many launches. The first call also measures what graphs add to their launches.
  measure::Sample time(std::size_t flush_bytes, int launches, LaunchGraph& graph);
  const measure::TimerInfo& info() const noexcept { return info_; }

 private:
  /// Messages between host and device, in mapped memory.
  struct Shared {
    std::uint32_t released, gave_up;  ///< tickets
    std::uint64_t cycles, ticks;      ///< from the clock kernel
  };
  struct Span {
    double ms = 0, clock_mhz = 0;
    bool late = false;
  };
  class Hold;
  /// Of spans in which launches are queued in one way: each on its own, or as graphs.
  struct Costs {
    measure::TimerOverhead overhead;
    std::size_t flush_ready = 0;  ///< bytes whose flush was done before and whose overhead is known
    double flushed_event_ms = 0;  ///< TimerOverhead::event_ms after a flush
    bool as_graph = false;
    /// Graphs of the kernels that were used for measuring this, by length and launches.
    std::map<std::pair<double, int>, std::unique_ptr<LaunchGraph>> spins = {};
  };

  void load();
  void release() noexcept;
  void wake();
  void calibrate();
  void calibrate(Costs& costs);
  void prepare_flush(std::size_t bytes, Costs& costs);
  measure::Sample time(std::size_t flush_bytes, int launches, bool hold, const std::function<void()>& work,
                       Costs& costs);
  void launch(Function function, void** parameters) const;
  void spin(double ms) const;
  Span span(std::size_t flush_bytes, bool hold, const std::function<void()>& work);
  double spin_span(double ms, int launches, std::size_t flush_bytes, Costs& costs);
  double clock_mhz() const noexcept;

  Session& session_;
  measure::TimerInfo info_;
  Module module_ = nullptr;
  Function hold_ = nullptr, spin_ = nullptr, clock_ = nullptr;
  volatile Shared* shared_ = nullptr;  ///< host address
  void* shared_on_device_ = nullptr;
  std::uint32_t ticket_ = 0;
  int late_in_a_row_ = 0;
  Costs costs_;
  std::optional<Costs> graph_costs_;  ///< unset: no graph was timed yet
};

}  // namespace xtune::gpu

// Launches that the device executes as one graph (CUDA graphs, HIP graphs).
#pragma once

#include <functional>

#include "backends/gpu/driver_api.hpp"

namespace xtune::gpu {

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

}  // namespace xtune::gpu

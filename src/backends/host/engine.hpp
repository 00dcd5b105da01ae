// Runs launches on all cores, each with a thread and a place for blocks.
#pragma once

#include <memory>
#include <vector>

#include "backends/host/shared_library.hpp"
#include "backends/host/thread_pool.hpp"
#include "core/measure/device.hpp"

namespace xtune::host {

/// One caller at a time.
class Engine {
 public:
  explicit Engine(std::int64_t shared_limit_bytes);
  ~Engine();

  /// Runs every block of the launch and returns its time in milliseconds. A sanitized kernel runs only on the calling
  /// thread. Throws CandidateFailure(crashed) if threads of a block wait for each other forever, overflow their stacks,
  /// write just beyond their dynamic shared memory or misuse a function of <xtune/hopper.cuh>; launch_failed for a
  /// cluster that is not allowed; and Error(unavailable) if there is not enough memory.
  double launch(const LoadedEntry& entry, const device::Launch& launch, void* const* arguments);
  /// Overwrites this much memory from all cores.
  void flush(std::size_t bytes);

 private:
  struct Lane;  ///< the state of one operating-system thread
  struct Run;
  void work(Run& run, unsigned worker);
  static void run_cluster(Run& run, Lane& lane, std::uint64_t cluster);
  static void run_block(Run& run, Lane& lane, std::uint64_t block);

  ThreadPool pool_;
  std::uint64_t launches_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<char> flushed_;
};

}  // namespace xtune::host

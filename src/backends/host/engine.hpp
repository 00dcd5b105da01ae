// Runs launches on all cores: the threads, a block runner and dynamic shared memory for each.
#pragma once

#include <memory>
#include <vector>

#include "backends/host/block_runner.hpp"
#include "backends/host/shared_library.hpp"
#include "backends/host/thread_pool.hpp"
#include "core/measure/device.hpp"

namespace xtune::host {

/// One caller at a time.
class Engine {
 public:
  explicit Engine(std::int64_t shared_limit_bytes);
  ~Engine();

  /// Runs every block of the launch and returns how long that took, in milliseconds. A sanitized kernel runs on the
  /// calling thread alone. Throws CandidateFailure(crashed) when threads of a block wait for each other for ever,
  /// overflow their stacks or write right behind their dynamic shared memory,
  /// and Error(unavailable) when memory is short.
  double launch(const KernelLibrary& library, const device::Launch& launch, void* const* arguments);
  /// Overwrites that much memory from all cores.
  void flush(std::size_t bytes);

 private:
  struct Lane;  ///< what one operating-system thread needs
  struct Run;
  void work(Run& run, unsigned worker);

  ThreadPool pool_;
  std::int64_t shared_limit_bytes_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<char> flushed_;
};

}  // namespace xtune::host

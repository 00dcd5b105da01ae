// Runs launches on all cores, each with a thread and a place for blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "backends/host/block/kernel_library.hpp"
#include "core/measure/device.hpp"

namespace xtune::host {

/// Threads wait between calls and end with the pool. One caller at a time.
class ThreadPool {
 public:
  /// `size` threads, including the caller of run().
  explicit ThreadPool(unsigned size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const noexcept { return static_cast<unsigned>(threads_.size()) + 1; }
  /// Calls work(0) .. work(size - 1), each on its own thread, 0 on the caller's; returns when all have ended. work must
  /// not throw.
  void run(const std::function<void(unsigned worker)>& work);

 private:
  void wait_and_work(unsigned worker);

  std::vector<std::thread> threads_;
  const std::function<void(unsigned)>* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0};  ///< incremented to start; the last round ends the threads
  std::atomic<std::uint32_t> unfinished_{0};
  std::atomic<bool> ending_{false};
};

/// One caller at a time.
class Engine {
 public:
  explicit Engine(std::int64_t shared_limit_bytes);
  ~Engine();

  /// The number of this process' threads that cooperative launches have left waiting for the next one.
  static std::size_t cooperative_threads() noexcept;
  /// The functions that kernels call.
  static const XtuneServices& services();

  /// Runs every block of the launch and returns its time in milliseconds. A sanitized kernel runs only on the calling
  /// thread. Throws CandidateFailure(crashed) if threads of a block wait for each other forever, overflow their stacks,
  /// write just beyond their dynamic shared memory or misuse a function of <xtune/hopper.cuh>; launch_failed for a
  /// cluster or a cooperative launch that is not allowed; and Error(unavailable) if there is not enough memory.
  double launch(const LoadedEntry& entry, const device::Launch& launch, void* const* arguments);
  /// Empties the caches, from all cores: evicts these lines and the translations of addresses, or, where the CPU
  /// cannot, overwrites this many bytes.
  void flush(std::span<const std::span<const std::byte>> memory, std::size_t bytes);
  /// Overwrites this many bytes from all cores, for launches whose memory is unknown.
  void overwrite(std::size_t bytes);

 private:
  struct Lane;      ///< the state of one operating-system thread
  struct Together;  ///< a thread and its state for each block of a cooperative launch
  struct Run;
  void work(Run& run, unsigned worker);
  void work_together(Run& run, unsigned block);
  static void run_cluster(Run& run, Lane& lane, std::uint64_t cluster);
  static void run_block(Run& run, Lane& lane, std::uint64_t block);

  const std::int64_t shared_limit_bytes_;
  ThreadPool pool_;
  std::unique_ptr<Together> together_;  ///< of the last cooperative launch
  std::uint64_t launches_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::byte> overwritten_;
  unsigned char overwrites_ = 0;
};

}  // namespace xtune::host

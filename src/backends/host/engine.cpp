// Blocks are assigned by a counter; each core runs its blocks one after the other. Workers sleep on an atomic: one
// wake-up starts them all, which keeps short launches short.
#include "backends/host/engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "backends/cpu/cpu.hpp"
#include "backends/host/block/block_place.hpp"
#include "backends/host/hopper/cluster_runner.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

/// What one turn of a worker runs: a block, or a cluster of a kernel that may have some.
std::uint64_t blocks_or_clusters(const LoadedEntry& entry, const device::Launch& launch) {
  const std::uint64_t blocks = launch.blocks();
  const std::uint64_t in_cluster = std::uint64_t{std::max(launch.cluster[0], 1u)} * std::max(launch.cluster[1], 1u) *
                                   std::max(launch.cluster[2], 1u);
  const auto refuse = [](const std::string& why) { throw build::CandidateFailure(Outcome::launch_failed, why); };
  if (launch.cooperative && blocks > 1 && (entry.sanitized || entry.kernel->uses_hopper))
    refuse(fmt::format("a {} cannot be launched cooperatively on the host backend",
                       entry.sanitized ? "sanitized kernel" : "kernel that includes <xtune/hopper.cuh>"));
  if (!entry.kernel->uses_hopper || in_cluster == 1) return blocks;
  if (in_cluster > max_cluster_blocks)
    refuse(fmt::format("a cluster of {} blocks: at most {} are allowed", in_cluster, max_cluster_blocks));
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (launch.grid[axis] % std::max(launch.cluster[axis], 1u) != 0)
      refuse(fmt::format("a grid of {} blocks is not a multiple of the cluster's {}", launch.grid[axis],
                         launch.cluster[axis]));
  if (entry.sanitized)
    refuse("a sanitized kernel cannot be launched in clusters of several blocks on the host backend");
  return blocks / in_cluster;
}

template <class Byte>
std::span<Byte> share_of(std::span<Byte> memory, unsigned worker, unsigned workers) {
  const std::size_t share = (memory.size() + workers - 1) / workers;
  const std::size_t first = std::min(share * worker, memory.size());
  return memory.subspan(first, std::min(share, memory.size() - first));
}

}  // namespace

ThreadPool::ThreadPool(unsigned size) {
  for (unsigned worker = 1; worker < size; ++worker) threads_.emplace_back([this, worker] { wait_and_work(worker); });
}

ThreadPool::~ThreadPool() {
  ending_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(const std::function<void(unsigned)>& work) {
  work_ = &work;
  unfinished_ = static_cast<std::uint32_t>(threads_.size());
  if (!threads_.empty()) {
    ++round_;
    round_.notify_all();
  }
  work(0);
  for (std::uint32_t left = unfinished_; left != 0; left = unfinished_) unfinished_.wait(left);
}

void ThreadPool::wait_and_work(unsigned worker) {
  for (std::uint32_t seen = 0;;) {
    round_.wait(seen);
    seen = round_;
    if (ending_) return;
    (*work_)(worker);
    if (--unfinished_ == 0) unfinished_.notify_one();
  }
}

struct Engine::Lane {
  explicit Lane(std::int64_t shared_limit_bytes) : place(shared_limit_bytes), clusters(place, shared_limit_bytes) {}
  BlockPlace place;
  ClusterRunner clusters;
};

struct Engine::Together {
  Together(unsigned blocks, std::int64_t shared_limit_bytes) : pool(blocks) {
    threads += blocks - 1;
    for (unsigned i = 0; i < blocks; ++i) lanes.push_back(std::make_unique<Lane>(shared_limit_bytes));
  }
  ~Together() { threads -= pool.size() - 1; }
  static inline std::atomic<std::size_t> threads{0};  ///< of all
  ThreadPool pool;
  std::vector<std::unique_ptr<Lane>> lanes;
};

namespace {

/// Where the blocks of a cooperative launch wait for each other.
class GridBarrier {
 public:
  explicit GridBarrier(std::uint64_t blocks) : blocks_(blocks) {}
  /// False: a block has ended without coming here.
  bool wait() {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    if (++waiting_ == blocks_) {
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || ended_ > 0; });
    return round_ != round;
  }
  /// A block ended.
  void leave() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::uint64_t blocks_;
  std::uint64_t waiting_ = 0, round_ = 0, ended_ = 0;
};

/// Of the launch whose block runs on this thread; null: not a cooperative one.
thread_local GridBarrier* barrier_of_grid = nullptr;

void wait_for_grid() {
  if (!barrier_of_grid)
    BlockRunner::running().refuse("grid.sync() needs a cooperative launch: [launch] cooperative = true");
  if (!barrier_of_grid->wait()) BlockRunner::running().refuse("it waits at grid.sync() for a block that has ended");
}

}  // namespace

struct Engine::Run {
  BlockJob job;
  std::uint64_t count, chunk;  ///< of blocks, or of clusters
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex{};
  std::string failure{};    ///< of the kernel
  std::string shortage{};   ///< of the machine
  GridBarrier grid{count};  ///< of a cooperative launch

  void fail(const std::string& text, bool refused) {
    const std::lock_guard lock(mutex);
    failed = true;
    if (failure.empty()) failure = (refused ? "the kernel was ended: " : "the kernel does not end: ") + text;
  }
};

Engine::Engine(std::int64_t shared_limit_bytes)
    : shared_limit_bytes_(shared_limit_bytes), pool_(system::usable_cpus()) {
  for (unsigned i = 0; i < pool_.size(); ++i) lanes_.push_back(std::make_unique<Lane>(shared_limit_bytes));
}
Engine::~Engine() = default;

std::size_t Engine::cooperative_threads() noexcept { return Together::threads; }

const XtuneServices& Engine::services() {
  static const XtuneServices calls = BlockRunner::services(&hopper_services(), wait_for_grid);
  return calls;
}

void Engine::work(Run& run, unsigned worker) {
  if (run.next.load(std::memory_order_relaxed) >= run.count) return;
  Lane& lane = *lanes_[worker];
  lane.place.begin_launch(run.job);
  while (!run.failed) {
    const std::uint64_t first = run.next.fetch_add(run.chunk, std::memory_order_relaxed);
    const std::uint64_t last = std::min(first + run.chunk, run.count);
    if (first >= run.count) return;
    for (std::uint64_t i = first; i < last && !run.failed; ++i) {
      if (run.job.entry.kernel->uses_hopper)
        run_cluster(run, lane, i);
      else
        run_block(run, lane, i);
    }
  }
}

void Engine::work_together(Run& run, unsigned block) {
  struct Leave {
    GridBarrier& grid;
    ~Leave() {
      barrier_of_grid = nullptr;
      grid.leave();
    }
  } const leave{run.grid};
  barrier_of_grid = &run.grid;
  Lane& lane = *together_->lanes[block];
  lane.place.begin_launch(run.job);
  run_block(run, lane, block);
}

void Engine::run_cluster(Run& run, Lane& lane, std::uint64_t cluster) {
  const std::string failure = lane.clusters.run(run.job, cluster);
  if (!failure.empty()) run.fail(failure, lane.clusters.is_refused());
}

void Engine::run_block(Run& run, Lane& lane, std::uint64_t block) {
  const XtuneKernel& kernel = *run.job.entry.kernel;
  const auto& grid = run.job.launch.grid;
  const XtuneUint3 index = {static_cast<unsigned>(block % grid[0]), static_cast<unsigned>(block / grid[0] % grid[1]),
                            static_cast<unsigned>(block / grid[0] / grid[1])};
  if (!kernel.uses_fibers) {
    kernel.run_block(run.job.arguments, index);
    return;
  }
  kernel.begin_block(index);
  BlockRunner& runner = lane.place.runner(run.job);
  const std::string failure = runner.run(kernel, run.job.arguments, uint3_of(run.job.launch.block));
  if (!failure.empty())
    run.fail(fmt::format("block ({}, {}, {}): {}", index.x, index.y, index.z, failure), runner.is_refused());
}

double Engine::launch(const LoadedEntry& entry, const device::Launch& launch, void* const* arguments) {
  const std::uint64_t count = blocks_or_clusters(entry, launch);
  const std::uint64_t share = count / (std::uint64_t{pool_.size()} * 16);
  Run run{{entry, launch, arguments, ++launches_}, count, std::clamp<std::uint64_t>(share, 1, 64)};
  const auto guarded = [&](unsigned worker) {
    const KeepFloatingPoint keep;
    try {
      launch.cooperative ? work_together(run, worker) : work(run, worker);
    } catch (const std::exception& error) {
      const std::lock_guard lock(run.mutex);
      run.failed = true;
      run.shortage = error.what();
    }
  };
  if (launch.cooperative && (!together_ || together_->lanes.size() != count))
    together_ = std::make_unique<Together>(static_cast<unsigned>(count), shared_limit_bytes_);
  const auto start = std::chrono::steady_clock::now();
  if (launch.cooperative)
    together_->pool.run(guarded);
  else if (entry.sanitized || count == 1)
    guarded(0);
  else
    pool_.run(guarded);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  bool wrote_beyond = false;  // checked in any case, so that no other kernel is blamed for it
  if (!entry.sanitized)
    for (const auto& lane : launch.cooperative ? together_->lanes : lanes_) {
      wrote_beyond |= lane->place.take_damage();
      wrote_beyond |= lane->clusters.take_damage();
    }
  if (!run.shortage.empty())
    throw Error(ErrorKind::unavailable, "the host device cannot run the kernel: " + run.shortage);
  if (!run.failure.empty()) throw build::CandidateFailure(Outcome::crashed, run.failure);
  if (wrote_beyond)
    throw build::CandidateFailure(
        Outcome::crashed,
        fmt::format("the kernel wrote beyond its dynamic shared memory: shared is {} bytes", launch.shared_bytes));
  return took.count();
}

void Engine::flush(std::span<const std::span<const std::byte>> memory, std::size_t bytes) {
  if (!cpu::can_evict_lines) return overwrite(bytes);
  pool_.run([&](unsigned worker) {
    for (const std::span<const std::byte> part : memory) cpu::evict_lines(share_of(part, worker, pool_.size()));
  });
  cpu::drop_translations();
  pool_.run([](unsigned) {});  // threads that sleep when the launch begins would make it longer
}

void Engine::overwrite(std::size_t bytes) {
  if (overwritten_.size() < bytes) overwritten_.resize(bytes);
  const auto value = std::byte{++overwrites_};
  pool_.run([&](unsigned worker) {
    cpu::overwrite_lines(share_of(std::span(overwritten_).first(bytes), worker, pool_.size()), value);
  });
}

}  // namespace xtune::host

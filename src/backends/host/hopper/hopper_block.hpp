// What <xtune/hopper.cuh> adds to one block: barriers in shared memory, copies of tiles, named barriers, products of
// warpgroups, and the other blocks of its cluster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/host/block/block_runner.hpp"
#include "backends/host/hopper/barriers.hpp"
#include "backends/host/hopper/cluster.hpp"
#include "backends/host/hopper/products.hpp"
#include "backends/host/hopper/tiles.hpp"
#include "runtime/host/xtune_host_abi.h"

namespace xtune::host {

/// Its functions are called on the block's running thread, and throw Refusal. Copies to shared memory are done as late
/// as possible: when threads wait for their barrier and no other thread of the block can run.
class HopperBlock final : public Background {
 public:
  HopperBlock(Cluster& cluster, unsigned rank) : cluster_(cluster), rank_(rank) {}

  /// Before the block runs, on its operating-system thread. `blocks`: all of the cluster, in order.
  void begin(BlockRunner& runner, const SharedWindow& window, std::uint32_t threads,
             std::span<HopperBlock* const> blocks);
  /// After it has run to its end. Throws Refusal for copies that nothing waited for.
  void end();
  BlockRunner& runner() noexcept { return *runner_; }

  bool advance() override;
  bool is_stopped() const override { return cluster_.is_stopped(); }
  void end_thread(std::uint32_t thread) override;

  /// What belongs to the running thread.
  struct Thread {
    TileStores stores;
    Cluster::Arrival arrival;
  };
  Thread& thread() { return threads_[runner_->state().running]; }
  Warpgroup& warpgroup() { return warpgroups_.of(runner_->state().running); }
  unsigned thread_of_warpgroup() const { return runner_->state().running % warpgroup_threads; }

  Cluster& cluster() noexcept { return cluster_; }
  unsigned rank() const noexcept { return rank_; }
  void cluster_wait();

  void init(unsigned long long* barrier, std::uint32_t arrivals);
  void arrive(unsigned long long* barrier, std::uint32_t bytes);
  void arrive_remote(unsigned long long* barrier, unsigned rank);
  void wait(unsigned long long* barrier, std::uint32_t parity);
  void load_tile(const XtuneTile& tile);
  void store_tile(const XtuneTile& tile);

  /// Refuses an address that cannot be a row of store_matrices() or load_matrices().
  void check_matrix_row(const void* row) const;

  void named(int barrier, int threads, bool wait);
  void product(const XtuneProduct& product);
  void products_wait(std::uint64_t pending);

 private:
  void require_shared(const void* address, std::size_t bytes, const char* what) const;
  /// Refuses a copy to bytes that copies and products still use.
  void start_load(const TileLoad& load);
  MemoryBarrier& barrier_at(const unsigned long long* barrier);

  Cluster& cluster_;
  const unsigned rank_;
  BlockRunner* runner_ = nullptr;
  SharedWindow window_;
  std::span<HopperBlock* const> blocks_;
  std::uint64_t seen_turns_ = 0;
  MemoryBarriers barriers_;
  NamedBarriers named_;
  TileLoads loads_;
  std::vector<Thread> threads_;
  Warpgroups warpgroups_;
};

/// The functions that kernels call.
const XtuneHopperServices& hopper_services();

}  // namespace xtune::host

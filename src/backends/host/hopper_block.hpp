// What <xtune/hopper.cuh> adds to one block: barriers in shared memory, copies of tiles, named barriers, products of
// warpgroups, and the other blocks of its cluster.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/host/block_runner.hpp"
#include "backends/host/cluster.hpp"
#include "backends/host/memory_barriers.hpp"
#include "backends/host/named_barriers.hpp"
#include "backends/host/shared_window.hpp"
#include "backends/host/tile_stores.hpp"
#include "backends/host/warpgroup.hpp"

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
  /// Of the calling operating-system thread.
  static HopperBlock& current();
  BlockRunner& runner() noexcept { return *runner_; }

  bool advance() override;
  bool is_stopped() const override { return cluster_.is_stopped(); }
  void end_thread(std::uint32_t thread) override;

  unsigned rank() const noexcept { return rank_; }
  unsigned cluster_blocks() const noexcept { return cluster_.blocks(); }
  void cluster_arrive();
  void cluster_wait();
  std::uint32_t remote_address(const void* pointer, unsigned rank) const;
  void* remote_pointer(std::uint32_t address, std::size_t bytes) const;

  void init(unsigned long long* barrier, std::uint32_t arrivals);
  void arrive(unsigned long long* barrier, std::uint32_t bytes);
  void arrive_remote(unsigned long long* barrier, unsigned rank);
  void wait(unsigned long long* barrier, std::uint32_t parity);
  void load_tile(const XtuneTile& tile);
  void store_tile(const XtuneTile& tile);
  TileStores& stores();

  void named(int barrier, int threads, bool wait);
  void product(const XtuneProduct& product);
  void products_wait(std::uint64_t pending);
  void products_begin();
  void products_commit();

 private:
  /// A copy to this block's shared memory that was started and not done.
  struct Load {
    TensorMap map;  ///< a copy: the thread that has the parameter may end before
    std::byte* shared;
    std::array<int, max_tensor_rank> at;
    MemoryBarrier* barrier;
  };
  struct Thread {
    TileStores stores;
    Cluster::Arrival arrival;
  };

  void require_shared(const void* address, std::size_t bytes, const char* what) const;
  /// Refuses a copy to bytes that copies and products still use.
  void start_load(const Load& load);
  MemoryBarrier& barrier_at(const unsigned long long* barrier);
  HopperBlock& block(unsigned rank) const;
  /// Does the first copy that threads wait for; only one whose bytes are expected, unless `unexpected`.
  bool load(bool unexpected);
  Thread& thread();
  Warpgroup& warpgroup();
  unsigned thread_of_warpgroup() const;

  Cluster& cluster_;
  const unsigned rank_;
  BlockRunner* runner_ = nullptr;
  SharedWindow window_;
  std::span<HopperBlock* const> blocks_;
  std::uint64_t seen_turns_ = 0;
  MemoryBarriers barriers_;
  NamedBarriers named_;
  std::deque<Load> loads_;
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<Warpgroup>> warpgroups_;
};

}  // namespace xtune::host

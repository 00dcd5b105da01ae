// Runs the blocks of kernels with <xtune/hopper.cuh>: all blocks of a cluster at the same time, each on a thread of the
// operating system.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/host/block/block_place.hpp"
#include "backends/host/hopper/hopper_block.hpp"

namespace xtune::host {

/// Used on one thread, which runs the first block of each cluster. The others wait between clusters, and end with this
/// object.
class ClusterRunner {
 public:
  ClusterRunner(BlockPlace& own_place, std::int64_t shared_limit_bytes);
  ~ClusterRunner();
  ClusterRunner(const ClusterRunner&) = delete;
  ClusterRunner& operator=(const ClusterRunner&) = delete;

  /// Runs a cluster after begin_launch on the own place. Returns an empty text, or which blocks failed and why, as
  /// BlockRunner::run does. Throws what its threads throw for lack of memory.
  std::string run(const BlockJob& job, std::uint64_t cluster);
  bool is_refused() const noexcept { return refused_; }
  /// BlockPlace::take_damage of all threads.
  bool take_damage();

 private:
  struct Member {
    Member(Cluster& cluster, unsigned rank, std::int64_t shared_limit_bytes)
        : owned(shared_limit_bytes), place(&owned), block(cluster, rank) {}
    BlockPlace owned, *place;
    HopperBlock block;
    SharedWindow window;
    std::uint64_t launch = 0;  ///< for which the window is
    XtuneUint3 index{};
    std::string failure;
    bool refused = false;
    std::exception_ptr shortage;
    std::thread thread;
  };

  void require_members(unsigned count);
  void wait_and_work(unsigned rank);
  void run_block(unsigned rank);
  void run_prepared_block(Member& member, unsigned rank);
  std::string failures();

  BlockPlace& own_place_;
  const std::int64_t shared_limit_bytes_;
  Cluster cluster_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<HopperBlock*> blocks_;
  const BlockJob* job_ = nullptr;
  bool ending_ = false, refused_ = false;
};

}  // namespace xtune::host

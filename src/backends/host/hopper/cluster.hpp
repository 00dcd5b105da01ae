// The blocks of a thread block cluster: one runs at a time, each on its own operating-system thread, because a kernel's
// shared memory is thread-local. A block that cannot go on passes the turn to the next one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/host/xtune_host_abi.h"

namespace xtune::host {

struct ByteRange {
  const std::byte* begin;
  std::size_t bytes;
  bool meets(const ByteRange& other) const noexcept {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

struct SharedWindow {
  std::byte *dynamic = nullptr, *variables = nullptr;
  std::size_t dynamic_bytes = 0, variable_bytes = 0;
  bool knows_variables = true;  ///< otherwise variables may be anywhere, as a sanitized kernel's are

  bool contains(const void* address, std::size_t bytes) const noexcept;
  /// The same place in another block of the cluster; nullptr: it is not in this window.
  std::byte* of(const SharedWindow& other, const void* address) const noexcept;
};

/// Of the calling thread, after kernel.begin_block().
SharedWindow shared_window(const XtuneKernel& kernel, void* dynamic, std::size_t dynamic_bytes, bool sanitized);

constexpr unsigned max_cluster_blocks = 16;

/// The turn, the barrier of all threads, and which blocks have started and ended. Members are called only by the block
/// whose turn it is, except take_turn.
class Cluster {
 public:
  /// Before a cluster starts with block 0.
  void begin(unsigned blocks, std::uint32_t threads_of_block);
  unsigned blocks() const noexcept { return blocks_; }

  /// Lets a block's take_turn return.
  void give_turn(unsigned rank);
  /// Waits until it is this block's turn.
  void take_turn(unsigned rank);
  /// Lets the other blocks that have not ended run, and returns when it is this block's turn again. `worked`: whether
  /// the block has changed anything since its last turn. False, at once, if no block can go on.
  bool pass(unsigned rank, bool worked);
  /// Ends the block, and passes the turn on; to block 0 when all blocks have ended. Returns whether all have.
  bool end(unsigned rank);
  /// The block's state is that of this cluster, and its shared memory is here.
  void start(unsigned rank, const SharedWindow& window) noexcept {
    started_ |= 1u << rank;
    windows_[rank] = window;
  }
  bool has_started(unsigned rank) const noexcept { return (started_ >> rank & 1u) != 0; }
  bool has_ended(unsigned rank) const noexcept { return (unfinished_ >> rank & 1u) == 0; }
  /// No block may go on.
  void stop() noexcept { stopped_ = true; }
  bool is_stopped() const noexcept { return stopped_; }

  // Shared memory. Throw Refusal for a block that is not in the cluster, has not started or has ended, and for what is
  // not in its shared memory.
  const SharedWindow& window(unsigned rank) const;
  /// A place in a block as 32 bits, never 0. Places may be computed with, within a variable.
  std::uint32_t remote_address(unsigned own_rank, const void* pointer, unsigned rank) const;
  void* remote_pointer(std::uint32_t address, std::size_t bytes) const;

  // The barrier. A thread that has ended is not waited for.
  struct Arrival {
    bool arrived = false;
    std::uint64_t phase = 0;
  };
  /// Throw Refusal for a thread that arrives twice, or waits without having arrived.
  void arrive(Arrival& thread);
  bool is_complete(const Arrival& thread) const noexcept { return phase_ > thread.phase; }
  void end_thread(const Arrival& thread);
  std::string barrier_text() const;

 private:
  unsigned next_after(unsigned rank) const;
  void release();

  unsigned blocks_ = 1, unfinished_ = 1, started_ = 0, idle_ = 0;
  bool stopped_ = false;
  std::uint32_t live_ = 0, arrived_ = 0;
  std::uint64_t phase_ = 0;
  std::array<SharedWindow, max_cluster_blocks> windows_;
  std::array<std::atomic<std::uint32_t>, max_cluster_blocks> turns_{};
};

}  // namespace xtune::host

// Runs the threads of one block at a time as fibers, with barriers and warp operations between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/fiber.hpp"
#include "backends/host/runtime/xtune_host_abi.h"
#include "backends/host/stacks.hpp"

namespace xtune::host {

/// One for each operating-system thread, and used only on that thread. Fibers and stacks are reused for later blocks
/// and launches. Threads run in the order of their linear index until they wait.
class BlockRunner {
 public:
  explicit BlockRunner(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {}
  ~BlockRunner();

  /// Runs a block of block.x * block.y * block.z threads to its end, after kernel.begin_launch and kernel.begin_block
  /// were called. Returns an empty text, or which threads wait for what if none can continue (their frames are
  /// dropped), or that a stack was too small. Throws Error(unavailable) if there is not enough memory for stacks.
  std::string run(const XtuneKernel& kernel, void* const* arguments, XtuneUint3 block);

  /// The functions that a kernel calls; they find the runner of the calling thread.
  static const XtuneServices& services();

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  struct Fiber {
    FiberContext context;
    BlockRunner* runner = nullptr;
    std::uint32_t number = 0, next = none;
    XtuneUint3 index{};
    XtuneLane* lane = nullptr;  ///< in a warp operation
    std::uint32_t given_mask =
        0;  ///< of that operation, as the kernel gave it; 0: none, the threads that wait together
  };
  /// 32 threads of consecutive linear index, as bits.
  struct Warp {
    std::uint32_t live = 0, waiting = 0;
  };
  /// First in, first out, through Fiber::next.
  struct Queue {
    std::uint32_t head = none, tail = none;
  };

  void require_fibers(std::size_t count);
  void push(Queue& queue, std::uint32_t fiber);
  static void fiber_main(void* fiber);
  void finish(Fiber& fiber);

  std::uint64_t barrier(int predicate);
  void warp(XtuneLane* lane);
  void yield();
  void switch_away();
  void release_barrier();
  /// Ends the operation of the lanes of `group`, if all of them have arrived; 0 never has.
  bool complete(std::uint32_t warp, std::uint32_t group, std::uint32_t mask);
  std::uint32_t group_of(std::uint32_t warp, std::uint32_t mask) const;
  /// Lanes without a mask meet when nothing else can run.
  void complete_converged();
  std::string describe_deadlock() const;

  std::size_t stack_bytes_;
  std::unique_ptr<Stacks> stacks_;
  std::unique_ptr<Fiber[]> fibers_;
  std::size_t fiber_count_ = 0;
  std::vector<Warp> warps_;
  FiberContext main_;
  Queue ready_, at_barrier_;
  std::uint32_t running_ = none, live_ = 0, arrived_ = 0, predicates_ = 0;
  std::uint64_t barrier_result_ = 0;
  const XtuneKernel* kernel_ = nullptr;
  void* const* arguments_ = nullptr;
};

}  // namespace xtune::host

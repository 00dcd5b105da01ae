// Runs the threads of one block at a time as fibers, with barriers and warp operations between them.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/host/block/fiber.hpp"
#include "runtime/host/xtune_host_abi.h"

namespace xtune::host {

/// Thrown where a kernel calls a function with arguments, or in a state, that the GPU does not allow. The block ends
/// with the text.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a thread waits for, besides barriers and warp operations.
class Condition {
 public:
  virtual ~Condition() = default;
  /// Asked whenever no thread of the block can run. Throws Refusal.
  virtual bool met() = 0;
  /// "for ...", of which a deadlock's message counts the threads.
  virtual std::string text() const = 0;
};

/// What goes on in a block besides its threads.
class Background {
 public:
  virtual ~Background() = default;
  /// Called when no thread of the block can run: does one step, or lets other blocks run. False: nothing changed, and
  /// never will. Throws Refusal.
  virtual bool advance() = 0;
  /// Another block ended the launch.
  virtual bool is_stopped() const = 0;
  /// Called on each thread after its last instruction. Throws Refusal.
  virtual void end_thread(std::uint32_t thread) = 0;
};

/// One for each operating-system thread, and used only on that thread. Fibers and stacks are reused for later blocks
/// and launches. Threads run in the order of their linear index until they wait.
class BlockRunner {
  static constexpr std::uint32_t none = 0xffffffffu;

 public:
  explicit BlockRunner(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {}
  ~BlockRunner();

  /// Runs a block of block.x * block.y * block.z threads to its end, after kernel.begin_launch and kernel.begin_block
  /// were called. Returns an empty text, or which threads wait for what if none can continue (their frames are
  /// dropped), or why the block was ended (is_refused). Throws Error(unavailable) if there is not enough memory for
  /// stacks.
  std::string run(const XtuneKernel& kernel, void* const* arguments, XtuneUint3 block,
                  Background* background = nullptr);
  /// Whether the last run's text says what the kernel did wrong, instead of who waits.
  bool is_refused() const noexcept { return !refusal_.empty(); }

  /// The functions that a kernel calls; they find the runner of the calling thread.
  static XtuneServices services(const XtuneHopperServices* hopper = nullptr, void (*grid_barrier)() = nullptr);

  // For those functions, on the running thread:

  /// Of the block that runs on this operating-system thread.
  static BlockRunner& running();

  struct State {
    std::uint32_t running = none, live = 0;  ///< thread; number of those that have not ended
    std::uint64_t epoch = 0;                 ///< barriers of the whole block that were passed
    std::uint64_t turns = 0;                 ///< switches between threads
  };
  const State& state() const noexcept { return state_; }
  void end_epoch() noexcept { ++state_.epoch; }
  /// Lets other threads run until the condition is met.
  void wait_until(Condition& condition);
  /// Ends the block. Does not return.
  void refuse(std::string&& why);

 private:
  struct Fiber {
    FiberContext context;
    BlockRunner* runner = nullptr;
    std::uint32_t number = 0, next = none;
    XtuneUint3 index{};
    XtuneLane* lane = nullptr;       ///< in a warp operation
    Condition* condition = nullptr;  ///< in wait_until
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
  /// __syncthreads.
  struct Barrier {
    Queue waiting;
    std::uint32_t arrived = 0, predicates = 0;
    std::uint64_t result = 0;
  };

  void require_fibers(std::size_t count);
  void push(Queue& queue, std::uint32_t fiber);
  static void fiber_main(void* fiber);
  void end_thread(const Fiber& fiber);
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
  /// Makes those ready whose condition is met.
  void wake();
  /// Looks for something that can go on while no thread is ready. `once`: lets other work do at most one step.
  void find_work(bool once);
  std::string describe_deadlock() const;

  std::size_t stack_bytes_;
  std::unique_ptr<Stacks> stacks_;
  std::unique_ptr<Fiber[]> fibers_;
  std::size_t fiber_count_ = 0;
  std::vector<Warp> warps_;
  FiberContext main_;
  Queue ready_, sleeping_;
  Barrier barrier_;
  State state_;
  std::uint32_t yields_ = 0;  ///< since threads were last woken
  std::string refusal_;
  struct {
    const XtuneKernel* kernel;
    void* const* arguments;
    Background* background;
  } job_{};
};

}  // namespace xtune::host

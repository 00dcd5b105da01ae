// A queue of fibers that can run, a queue at the barrier, and the lanes of each warp that wait for each other.
#include "backends/host/block_runner.hpp"

#include <fmt/core.h>

#include <bit>

namespace xtune::host {
namespace {

thread_local BlockRunner* runner_of_thread = nullptr;

constexpr std::uint32_t bit(std::uint32_t lane) { return 1u << (lane % 32); }

}  // namespace

BlockRunner::~BlockRunner() = default;

void BlockRunner::require_fibers(std::size_t count) {
  if (fiber_count_ >= count) return;
  // Between blocks frames are not needed: a larger set of stacks replaces the smaller one.
  fiber_count_ = 0;
  stacks_ = std::make_unique<Stacks>(count, stack_bytes_);
  fibers_ = std::make_unique<Fiber[]>(count);
  fiber_count_ = count;
  for (std::size_t i = 0; i < count; ++i) {
    fibers_[i].runner = this;
    fibers_[i].number = static_cast<std::uint32_t>(i);
  }
}

void BlockRunner::push(Queue& queue, std::uint32_t fiber) {
  fibers_[fiber].next = none;
  if (queue.head == none)
    queue.head = fiber;
  else
    fibers_[queue.tail].next = fiber;
  queue.tail = fiber;
}

std::string BlockRunner::run(const XtuneKernel& kernel, void* const* arguments, XtuneUint3 block) {
  live_ = block.x * block.y * block.z;
  require_fibers(live_);
  kernel_ = &kernel;
  arguments_ = arguments;
  runner_of_thread = this;
  arrived_ = predicates_ = 0;
  ready_ = at_barrier_ = {};
  warps_.assign((live_ + 31) / 32, {});
  std::uint32_t number = 0;
  for (std::uint32_t z = 0; z < block.z; ++z)
    for (std::uint32_t y = 0; y < block.y; ++y)
      for (std::uint32_t x = 0; x < block.x; ++x, ++number) {
        Fiber& fiber = fibers_[number];
        fiber.index = {x, y, z};
        if (!fiber.context.prepared())
          fiber.context.prepare(stacks_->bottom(number), stacks_->usable_bytes(number), fiber_main, &fiber);
        push(ready_, number);
        warps_[number / 32].live |= bit(number);
      }
  running_ = ready_.head;
  ready_.head = fibers_[running_].next;
  FiberContext::switch_to(main_, fibers_[running_].context);
  runner_of_thread = nullptr;

  std::string failure;
  if (live_ > 0) {
    failure = describe_deadlock();
    for (std::size_t i = 0; i < fiber_count_; ++i) fibers_[i].context.drop();
  }
  for (std::uint32_t i = 0; i < number && failure.empty(); ++i)
    if (!stacks_->intact(i))
      failure = fmt::format("thread {} of the block used more than the {} bytes of its stack", i, stack_bytes_);
  return failure;
}

void BlockRunner::fiber_main(void* argument) {
  auto& fiber = *static_cast<Fiber*>(argument);
  BlockRunner& runner = *fiber.runner;
  for (;;) {
    runner.kernel_->run_thread(runner.arguments_, fiber.index);
    runner.finish(fiber);
  }
}

void BlockRunner::finish(Fiber& fiber) {
  --live_;
  Warp& warp = warps_[fiber.number / 32];
  warp.live &= ~bit(fiber.number);
  // Threads that also waited for this thread need not wait any longer.
  if (live_ > 0 && arrived_ == live_) release_barrier();
  for (std::uint32_t rest = warp.waiting; rest != 0;) {
    const std::uint32_t mask =
        fibers_[fiber.number / 32 * 32 + static_cast<std::uint32_t>(std::countr_zero(rest))].lane->mask;
    const std::uint32_t group = group_of(fiber.number / 32, mask);
    rest &= complete(fiber.number / 32, group, mask) ? ~group : rest - 1;
  }
  switch_away();
}

// Called with the running fiber already in the queue in which it waits.
void BlockRunner::switch_away() {
  Fiber& self = fibers_[running_];
  if (ready_.head == none && live_ > 0) complete_converged();
  if (ready_.head == none) {
    // Done: the next block continues from here. Or no thread can continue, and this one is never resumed.
    FiberContext::switch_to(self.context, main_);
    return;
  }
  running_ = ready_.head;
  ready_.head = fibers_[running_].next;
  if (running_ != self.number) FiberContext::switch_to(self.context, fibers_[running_].context);
}

void BlockRunner::release_barrier() {
  barrier_result_ = static_cast<std::uint64_t>(arrived_) << 32 | predicates_;
  arrived_ = predicates_ = 0;
  if (ready_.head == none)
    ready_.head = at_barrier_.head;
  else
    fibers_[ready_.tail].next = at_barrier_.head;
  ready_.tail = at_barrier_.tail;
  at_barrier_ = {};
}

std::uint64_t BlockRunner::barrier(int predicate) {
  push(at_barrier_, running_);
  predicates_ += predicate != 0;
  if (++arrived_ == live_) release_barrier();
  switch_away();
  return barrier_result_;
}

std::uint32_t BlockRunner::group_of(std::uint32_t warp, std::uint32_t mask) const {
  return (mask ? mask : 0xffffffffu) & warps_[warp].live;
}

bool BlockRunner::complete(std::uint32_t warp_number, std::uint32_t group, std::uint32_t mask) {
  Warp& warp = warps_[warp_number];
  if (group == 0 || (warp.waiting & group) != group) return false;
  XtuneLane* lanes[32];
  std::uint64_t values[32];
  std::uint32_t ballot = 0;
  for (std::uint32_t rest = group; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
    lanes[i] = fibers_[warp_number * 32 + i].lane;
    if (lanes[i]->mask != mask) return false;
    values[i] = lanes[i]->value;
    if (lanes[i]->predicate) ballot |= bit(i);
  }
  for (std::uint32_t rest = group; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
    const int source = lanes[i]->source;
    if (source >= 0 && source < 32 && (group & bit(static_cast<std::uint32_t>(source))))
      lanes[i]->value = values[source];
    lanes[i]->ballot = ballot;
    lanes[i]->participants = group;
    push(ready_, warp_number * 32 + i);
  }
  warp.waiting &= ~group;
  return true;
}

void BlockRunner::complete_converged() {
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    std::uint32_t group = 0;
    for (std::uint32_t rest = warps_[w].waiting; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (fibers_[w * 32 + i].lane->mask == 0) group |= bit(i);
    }
    complete(w, group, 0);
  }
}

void BlockRunner::warp(XtuneLane* lane) {
  Fiber& self = fibers_[running_];
  const std::uint32_t number = self.number / 32;
  self.given_mask = lane->mask;
  if (lane->mask) lane->mask |= bit(self.number);
  self.lane = lane;
  warps_[number].waiting |= bit(self.number);
  complete(number, group_of(number, lane->mask), lane->mask);
  switch_away();
}

void BlockRunner::yield() {
  push(ready_, running_);
  switch_away();
}

std::string BlockRunner::describe_deadlock() const {
  std::string text = fmt::format("of {} threads", live_);
  if (arrived_ > 0)
    text += fmt::format(", {} wait at __syncthreads(), the first is thread {}", arrived_, at_barrier_.head);
  std::uint32_t shown = 0;
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    if (warps_[w].waiting == 0 || shown++ >= 4) continue;
    const auto first = static_cast<std::uint32_t>(std::countr_zero(warps_[w].waiting));
    text += fmt::format(", {} of warp {} wait in a warp operation with mask {:#010x}", std::popcount(warps_[w].waiting),
                        w, fibers_[w * 32 + first].given_mask);
  }
  return text + "; none can go on";
}

const XtuneServices& BlockRunner::services() {
  static const XtuneServices calls = {
      [](int predicate) -> unsigned long long { return runner_of_thread->barrier(predicate); },
      [](XtuneLane* lane) { runner_of_thread->warp(lane); },
      // Stores between blocks belong to no thread.
      [] {
        if (runner_of_thread) runner_of_thread->yield();
      },
  };
  return calls;
}

}  // namespace xtune::host

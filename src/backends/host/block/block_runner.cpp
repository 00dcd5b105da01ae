// A queue of fibers that can run, a queue at the barrier, and the lanes of each warp that wait for each other.
#include "backends/host/block/block_runner.hpp"

#include <fmt/core.h>

#include <bit>
#include <map>

namespace xtune::host {
namespace {

thread_local BlockRunner* runner_of_thread = nullptr;

constexpr std::uint32_t bit(std::uint32_t lane) { return 1u << (lane % 32); }

}  // namespace

BlockRunner::~BlockRunner() = default;

BlockRunner& BlockRunner::running() { return *runner_of_thread; }

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

std::string BlockRunner::run(const XtuneKernel& kernel, void* const* arguments, XtuneUint3 block,
                             Background* background) {
  state_.live = block.x * block.y * block.z;
  require_fibers(state_.live);
  job_ = {&kernel, arguments, background};
  runner_of_thread = this;
  refusal_.clear();
  barrier_ = {};
  ready_ = sleeping_ = {};
  state_.epoch = yields_ = 0;
  warps_.assign((state_.live + 31) / 32, {});
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
  state_.running = ready_.head;
  ready_.head = fibers_[state_.running].next;
  FiberContext::switch_to(main_, fibers_[state_.running].context);
  runner_of_thread = nullptr;

  std::string failure;
  if (state_.live > 0) {
    failure = is_refused() ? refusal_ : describe_deadlock();
    for (std::size_t i = 0; i < fiber_count_; ++i) fibers_[i].context.drop();
  }
  for (std::uint32_t i = 0; i < number && failure.empty(); ++i)
    if (!stacks_->intact(i))
      failure = refusal_ =
          fmt::format("thread {} of the block used more than the {} bytes of its stack", i, stack_bytes_);
  return failure;
}

void BlockRunner::fiber_main(void* argument) {
  auto& fiber = *static_cast<Fiber*>(argument);
  BlockRunner& runner = *fiber.runner;
  for (;;) {
    runner.job_.kernel->run_thread(runner.job_.arguments, fiber.index);
    if (runner.job_.background) runner.end_thread(fiber);
    runner.finish(fiber);
  }
}

void BlockRunner::end_thread(const Fiber& fiber) {
  std::string why;
  try {
    job_.background->end_thread(fiber.number);
  } catch (const Refusal& refusal) {
    why = refusal.what();
  }
  if (!why.empty()) refuse(std::move(why));
}

void BlockRunner::finish(Fiber& fiber) {
  --state_.live;
  Warp& warp = warps_[fiber.number / 32];
  warp.live &= ~bit(fiber.number);
  // Threads that also waited for this thread need not wait any longer.
  if (state_.live > 0 && barrier_.arrived == state_.live) release_barrier();
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
  Fiber& self = fibers_[state_.running];
  if (ready_.head == none && state_.live > 0) find_work(false);
  if (ready_.head == none) {
    // Done: the next block continues from here. Or no thread can continue, and this one is never resumed.
    FiberContext::switch_to(self.context, main_);
    return;
  }
  state_.running = ready_.head;
  ready_.head = fibers_[state_.running].next;
  ++state_.turns;
  if (state_.running != self.number) FiberContext::switch_to(self.context, fibers_[state_.running].context);
}

void BlockRunner::find_work(bool once) {
  std::string why;
  try {
    do {
      complete_converged();
      if (ready_.head == none) wake();
      if (ready_.head != none) return;
      if (!job_.background || !job_.background->advance()) return;
    } while (!once);
    return;
  } catch (const Refusal& refusal) {
    why = refusal.what();
  }
  refusal_ = why;
  ready_ = {};
}

void BlockRunner::wake() {
  yields_ = 0;
  Queue still;
  for (std::uint32_t fiber = sleeping_.head; fiber != none;) {
    const std::uint32_t next = fibers_[fiber].next;
    push(fibers_[fiber].condition->met() ? ready_ : still, fiber);
    fiber = next;
  }
  sleeping_ = still;
}

void BlockRunner::wait_until(Condition& condition) {
  if (condition.met()) return;
  fibers_[state_.running].condition = &condition;
  push(sleeping_, state_.running);
  switch_away();
}

void BlockRunner::refuse(std::string&& why) {
  refusal_ = fmt::format("thread {}: {}", state_.running, why);
  std::string().swap(why);  // its owner's frame is never unwound
  ready_ = {};
  FiberContext::switch_to(fibers_[state_.running].context, main_);
}

void BlockRunner::release_barrier() {
  barrier_.result = static_cast<std::uint64_t>(barrier_.arrived) << 32 | barrier_.predicates;
  barrier_.arrived = barrier_.predicates = 0;
  ++state_.epoch;
  if (ready_.head == none)
    ready_.head = barrier_.waiting.head;
  else
    fibers_[ready_.tail].next = barrier_.waiting.head;
  ready_.tail = barrier_.waiting.tail;
  barrier_.waiting = {};
}

std::uint64_t BlockRunner::barrier(int predicate) {
  push(barrier_.waiting, state_.running);
  barrier_.predicates += predicate != 0;
  if (++barrier_.arrived == state_.live) release_barrier();
  switch_away();
  return barrier_.result;
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
  const int line = fibers_[warp_number * 32 + static_cast<std::uint32_t>(std::countr_zero(group))].lane->line;
  for (std::uint32_t rest = group; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
    lanes[i] = fibers_[warp_number * 32 + i].lane;
    if (lanes[i]->mask != mask || (mask == 0 && lanes[i]->line != line)) return false;
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
    std::map<int, std::uint32_t> groups;  // line to lanes
    for (std::uint32_t rest = warps_[w].waiting; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(rest));
      const XtuneLane& lane = *fibers_[w * 32 + i].lane;
      if (lane.mask == 0) groups[lane.line] |= bit(i);
    }
    for (const auto& [line, group] : groups) complete(w, group, 0);
  }
}

void BlockRunner::warp(XtuneLane* lane) {
  Fiber& self = fibers_[state_.running];
  const std::uint32_t number = self.number / 32;
  self.given_mask = lane->mask;
  if (lane->mask) lane->mask |= bit(self.number);
  self.lane = lane;
  warps_[number].waiting |= bit(self.number);
  complete(number, group_of(number, lane->mask), lane->mask);
  switch_away();
}

void BlockRunner::yield() {
  push(ready_, state_.running);
  // Threads that wait in loops for what others wait for in turn.
  if (job_.background && ++yields_ > state_.live) {
    const Queue loops = ready_;
    ready_ = {};
    find_work(true);
    if (ready_.head == none)
      ready_ = loops;
    else
      fibers_[ready_.tail].next = loops.head, ready_.tail = loops.tail;
    if (is_refused() || job_.background->is_stopped()) ready_ = {};
  }
  switch_away();
}

std::string BlockRunner::describe_deadlock() const {
  std::string text = fmt::format("of {} threads", state_.live);
  if (barrier_.arrived > 0)
    text +=
        fmt::format(", {} wait at __syncthreads(), the first is thread {}", barrier_.arrived, barrier_.waiting.head);
  std::uint32_t shown = 0;
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    if (warps_[w].waiting == 0 || shown++ >= 4) continue;
    const auto first = static_cast<std::uint32_t>(std::countr_zero(warps_[w].waiting));
    text += fmt::format(", {} of warp {} wait in a warp operation with mask {:#010x}", std::popcount(warps_[w].waiting),
                        w, fibers_[w * 32 + first].given_mask);
  }
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> groups;  // text to count and first thread
  for (std::uint32_t fiber = sleeping_.head; fiber != none; fiber = fibers_[fiber].next)
    ++groups.try_emplace(fibers_[fiber].condition->text(), 0, fiber).first->second.first;
  for (const auto& [what, threads] : groups)
    text += fmt::format(", {} wait {}, the first is thread {}", threads.first, what, threads.second);
  return text + "; none can go on";
}

XtuneServices BlockRunner::services(const XtuneHopperServices* hopper, void (*grid_barrier)()) {
  return {
      [](int predicate) -> unsigned long long { return runner_of_thread->barrier(predicate); },
      [](XtuneLane* lane) { runner_of_thread->warp(lane); },
      // Stores between blocks belong to no thread.
      [] {
        if (runner_of_thread) runner_of_thread->yield();
      },
      grid_barrier,
      hopper,
  };
}

}  // namespace xtune::host

// The queue of several worker processes.
#include "ipc/worker_pool.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ipc/framing.hpp"
#include "xtune/error.hpp"

namespace xtune::ipc {
namespace {

constexpr int start_attempts = 3;
constexpr std::uint64_t retry_ms = 50;  // gives the system time if it is short of processes for a moment

struct Job {
  std::string frame;
  double timeout_s = 0;
  WorkerProcess::Callback callback;
  double expected_s = 0;  // infinite: unknown
  bool alone = false;
};

struct Slot {
  std::unique_ptr<WorkerProcess> worker;
  std::optional<Job> job;
  system::EventLoop::Watch retry;
  int failed_starts = 0;
  bool retired() const noexcept { return failed_starts >= start_attempts; }
};

}  // namespace

struct WorkerPool::State : std::enable_shared_from_this<WorkerPool::State> {
  system::EventLoop& loop;
  std::vector<Slot> slots;
  std::deque<Job> queue;
  Admission admits;
  std::string last_reason;
  std::size_t failing = 0;  // jobs whose failure was posted
  std::uint64_t epoch = 0;  // counts cancel_all() calls: earlier posts are ignored

  State(system::EventLoop& on, std::size_t size, const CommandFactory& factory, Admission may)
      : loop(on), slots(size), admits(std::move(may)) {
    for (std::size_t i = 0; i < size; ++i) slots[i].worker = std::make_unique<WorkerProcess>(loop, factory(i));
  }

  std::size_t busy() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(slots.begin(), slots.end(), [](const Slot& slot) { return slot.job.has_value(); }));
  }
  bool is_one_alone() const noexcept {
    return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.job && slot.job->alone; });
  }
  Slot* idle_slot() noexcept;
  void dispatch();
  void send(std::size_t index);
  void on_reply(std::size_t index, WorkerReply reply);
  void fail_queue();
  void cancel() noexcept;
};

Slot* WorkerPool::State::idle_slot() noexcept {
  Slot* best = nullptr;
  for (Slot& slot : slots) {
    if (slot.job || slot.retired()) continue;
    if (slot.worker->running()) return &slot;
    if (!best) best = &slot;
  }
  return best;
}

void WorkerPool::State::dispatch() {
  while (!queue.empty()) {
    Slot* slot = idle_slot();
    if (!slot) break;
    // The next reply checks again.
    if (const std::size_t running = busy(); admits && running > 0 && !admits(running)) break;
    const auto next = std::max_element(queue.begin(), queue.end(), [](const Job& a, const Job& b) {
      return std::pair(a.alone, a.expected_s) < std::pair(b.alone, b.expected_s);
    });
    if (busy() > 0 && (next->alone || is_one_alone())) break;
    slot->job = std::move(*next);
    queue.erase(next);
    send(static_cast<std::size_t>(slot - slots.data()));
  }
  if (!queue.empty() && std::all_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.retired(); }))
    fail_queue();
}

void WorkerPool::State::send(std::size_t index) {
  Slot& slot = slots[index];
  // A copy of the frame, because a second start needs it again.
  slot.worker->request_frame(slot.job->frame, slot.job->timeout_s,
                             [this, index](WorkerReply reply) { on_reply(index, std::move(reply)); });
}

void WorkerPool::State::on_reply(std::size_t index, WorkerReply reply) {
  const auto keep = shared_from_this();
  Slot& slot = slots[index];
  if (!reply.failure || reply.failure->kind != WorkerFailureKind::could_not_start) {
    slot.failed_starts = 0;
  } else if (++slot.failed_starts < start_attempts) {
    slot.retry = loop.call_after(retry_ms, [this, index] { send(index); });
    return;
  } else {
    last_reason = reply.failure->text;
  }
  const Job job = *std::exchange(slot.job, std::nullopt);
  // The worker gets its next job before the owner processes this one's answer, which may take long and may destroy the
  // pool.
  dispatch();
  job.callback(std::move(reply));
}

void WorkerPool::State::fail_queue() {
  for (Job& job : std::exchange(queue, {})) {
    ++failing;
    loop.post([weak = weak_from_this(), callback = std::move(job.callback), posted_in = epoch] {
      const auto state = weak.lock();
      if (!state || state->epoch != posted_in) return;
      --state->failing;
      callback({nullptr, WorkerFailure{WorkerFailureKind::could_not_start, 0, 0, state->last_reason}, {}, 0});
    });
  }
}

void WorkerPool::State::cancel() noexcept {
  ++epoch;
  failing = 0;
  // Dropped last: destroying a callback's captures may call this object.
  const std::deque<Job> dropped = std::exchange(queue, {});
  std::vector<std::optional<Job>> in_flight;
  for (Slot& slot : slots) {
    if (!slot.job) continue;
    slot.retry.cancel();
    slot.worker->interrupt();
    in_flight.push_back(std::exchange(slot.job, std::nullopt));
  }
}

WorkerPool::WorkerPool(system::EventLoop& loop, std::size_t size, const CommandFactory& factory, Admission admits) {
  if (size == 0) throw Error(ErrorKind::invalid_argument, "a pool needs at least one worker");
  state_ = std::make_shared<State>(loop, size, factory, std::move(admits));
}

WorkerPool::~WorkerPool() { state_->cancel(); }

void WorkerPool::submit(const nlohmann::json& message, double timeout_s, Callback callback,
                        std::optional<double> expected_s) {
  if (!callback) throw Error(ErrorKind::invalid_argument, "a job needs a callback");
  state_->queue.push_back({encode_message(message), timeout_s, std::move(callback),
                           expected_s.value_or(std::numeric_limits<double>::infinity())});
  state_->dispatch();
}

void WorkerPool::submit_alone(const nlohmann::json& message, double timeout_s, Callback callback) {
  if (!callback) throw Error(ErrorKind::invalid_argument, "a job needs a callback");
  state_->queue.push_back({encode_message(message), timeout_s, std::move(callback), 0, true});
  state_->dispatch();
}

void WorkerPool::cancel_all() noexcept { state_->cancel(); }

std::size_t WorkerPool::size() const noexcept { return state_->slots.size(); }

std::size_t WorkerPool::busy() const noexcept { return state_->busy(); }

std::size_t WorkerPool::queued() const noexcept { return state_->queue.size() + state_->failing; }

}  // namespace xtune::ipc

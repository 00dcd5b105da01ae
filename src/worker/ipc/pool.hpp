// Worker processes: one of them, a queue over several, and how many compilers run at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "system/deadline.hpp"
#include "system/event_loop.hpp"
#include "system/subprocess.hpp"

namespace xtune::worker {

class MessageDecoder;

/// How to start a worker. The program reads requests from descriptor 0, writes worker_greeting() (framing.hpp) and then
/// its answers to descriptor 1, and ends at the end of its input.
struct WorkerCommand {
  std::vector<std::string> argv;
  system::Environment env;
  std::string cwd;
  std::uint64_t memory_limit_bytes = 0;  ///< limit of its address space, as in argv; 0: none
};

enum class WorkerFailureKind {
  crashed,          ///< it ended, by a signal or by itself, without an answer
  timed_out,        ///< no answer in time; it was killed
  could_not_start,  ///< not found, or it ended (or stayed silent for a minute) before its greeting
  garbage,          ///< its output was not a message; it was killed
};
const char* to_string(WorkerFailureKind kind) noexcept;

struct WorkerFailure {
  WorkerFailureKind kind = WorkerFailureKind::crashed;
  int exit_code = 0;  ///< of the process, if it ended by itself
  int signal = 0;
  std::string text;  ///< for people: "killed by signal 11 (segmentation fault)"
  /// It was killed by a signal that xtune did not send (system::comes_from_others), or was stopped for so long that it
  /// was given up: its job is probably not the cause.
  bool from_outside = false;
};

struct WorkerReply {
  std::shared_ptr<nlohmann::json> answer;  ///< null exactly when there is a failure
  std::optional<WorkerFailure> failure;
  std::string stderr_tail;       ///< the last 64 KiB of its standard error since the request, from a line's start
  std::uint64_t generation = 0;  ///< number of the process; 0: none was started
  std::string emulated_place{};  ///< "after 4 s: kernel 'k', ...", the last that an emulator wrote; empty: none
  double wall_s = 0;             ///< since the worker was running and had the request; 0: that was never the case
};

/// What is kept of standard error: the last 64 KiB, and the last place that an emulator wrote before or in them.
class ErrorTail {
 public:
  void append(std::string_view bytes);
  void clear() noexcept;
  std::string take();
  std::string take_place();

 private:
  void trim();

  std::string text_, place_;
};

/// A child process in its own process group, started by the first request and again after it was lost. One request at a
/// time. On a failure the whole group is killed (SIGKILL), and the reply comes once the process is gone, so that its
/// device and memory are free; after 5 s it comes anyway. Time limits are counted like a Deadline; that of an answer
/// starts again after a wait for a directory. Lives on the loop's thread.
class WorkerProcess {
 public:
  using Callback = std::function<void(WorkerReply)>;

  WorkerProcess(system::EventLoop& loop, WorkerCommand command);
  ~WorkerProcess();  ///< as interrupt()
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Starts the process if there is none and sends; never blocks. The time starts when the worker is running and has
  /// the request. `callback` is called exactly once, never from inside request(), unless interrupt() is called before;
  /// it may call request(), interrupt() or destroy this object. Throws Error(invalid_argument) while busy, Error(io)
  /// for a message above the limit.
  void request(const nlohmann::json& message, double timeout_s, Callback callback);
  /// As above, for a frame made by encode_message().
  void request_frame(std::string frame, double timeout_s, Callback callback);
  /// Calls `waited` when the worker has waited `ms` milliseconds for a directory that another process holds.
  void on_long_wait(std::uint64_t ms, std::function<void(const std::string& directory)> waited);
  /// Kills the group now; the callback of a request in flight is dropped. The next request starts a new process.
  void interrupt() noexcept;

  bool busy() const noexcept { return static_cast<bool>(callback_); }
  bool running() const noexcept { return process_.running() && !ending_; }
  int pid() const noexcept { return process_.pid(); }  ///< 0 while there is none
  /// Counts started processes: if it changes between two requests, the worker's data in memory is lost.
  std::uint64_t generation() const noexcept { return generation_; }

 private:
  void start();
  void on_stdout(std::string_view bytes);
  std::optional<WorkerReply> take_answer();
  void note_wait(const std::string& directory);
  void on_exit(int exit_code, int signal);
  void start_clock(double seconds, WorkerFailureKind kind);
  void cancel_clocks() noexcept { clock_.cancel(), wait_.cancel(); }
  void fail(WorkerFailure failure);
  void drop_process() noexcept;
  void deliver(WorkerReply reply);

  system::EventLoop& loop_;
  WorkerCommand command_;
  system::Subprocess process_;
  std::unique_ptr<MessageDecoder> decoder_;
  system::Deadline clock_;         ///< of the greeting, or of the answer
  system::EventLoop::Watch wait_;  ///< for deferred actions, or for the end of a killed process
  Callback callback_;
  std::optional<WorkerFailure> ending_;  ///< the failure, while waiting for the killed process
  ErrorTail stderr_tail_;
  double timeout_s_ = 0;
  std::optional<std::int64_t> sent_ms_;  ///< when the worker was running and had the request
  bool greeted_ = false;
  std::uint64_t generation_ = 0;
  std::uint64_t long_wait_ms_ = 0;
  std::function<void(const std::string&)> waited_;  ///< may be empty
};

/// Waiting jobs of unknown length start first, then the longest, so that the last to run are short and the workers end
/// together; equal ones start in the order of arrival. Processes are started when there is work for them, and those
/// already running are used first. A worker whose process cannot be started three times in a row fails its job with
/// could_not_start and retires; once all have retired, every queued and later job fails with the last reason. Lives on
/// the loop's thread; callbacks may submit, cancel_all or destroy the pool.
class WorkerPool {
 public:
  using Callback = WorkerProcess::Callback;
  /// The command of worker `index` (0 .. size-1).
  using CommandFactory = std::function<WorkerCommand(std::size_t index)>;

  /// Whether one more job may run beside `running` others. Called when a job waits and a worker is idle, but not if
  /// none runs.
  using Admission = std::function<bool(std::size_t running)>;

  /// Gets all commands now but starts nothing. Throws Error(invalid_argument) for size 0.
  WorkerPool(system::EventLoop& loop, std::size_t size, const CommandFactory& factory, Admission admits = {});
  ~WorkerPool();  ///< as cancel_all()
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// `callback` is called exactly once, never from inside submit(), unless cancel_all() is called before. timeout_s is
  /// for each job, from the moment its worker has it; expected_s only affects the order of the queue. Throws Error(io)
  /// for a message above the limit.
  void submit(const nlohmann::json& message, double timeout_s, Callback callback,
              std::optional<double> expected_s = {});
  /// The same for a job that runs on its own. It is next: no other job starts until it has ended.
  void submit_alone(const nlohmann::json& message, double timeout_s, Callback callback);
  /// Kills the busy workers' groups and drops queued jobs; the callbacks of those jobs are not called. The pool stays
  /// usable.
  void cancel_all() noexcept;

  std::size_t size() const noexcept { return slots_.size(); }
  std::size_t busy() const noexcept;                             ///< number of jobs in a worker
  std::size_t queued() const noexcept { return queue_.size(); }  ///< number of waiting jobs

 private:
  struct Job {
    std::string frame;
    double timeout_s = 0;
    Callback callback;
    double expected_s = 0;  ///< infinite: unknown
    bool alone = false;
  };
  struct Slot {
    std::unique_ptr<WorkerProcess> worker;
    std::optional<Job> job;
    system::EventLoop::Watch retry;
    int failed_starts = 0;
    bool retired() const noexcept;
  };
  void add(Job job);
  Slot* idle_slot() noexcept;
  void dispatch();
  void send(Slot& slot);
  void on_reply(Slot& slot, WorkerReply reply);
  void fail_next();

  system::EventLoop& loop_;
  std::vector<Slot> slots_;
  Admission admits_;
  std::deque<Job> queue_;
  system::EventLoop::Watch failing_;
  std::string last_reason_;
};

/// The maximum number of compilers at once, at least 1, from the first of these that is not empty: `given`, which is
/// the value of --jobs; XTUNE_JOBS; "auto".
///
///     "16"          a count
///     "0.5"         a fraction of the usable cores, at most 1, which contains a point
///     "0.9:32"      a fraction, but at most 32
///     "auto", "-1"  0.9 of the usable cores
///
/// If this process may use every core of the machine, and `sharing` - 1 others may as well, the usable cores are its
/// share of them. Throws Error(invalid_argument) that names the option or the variable.
std::size_t job_count(const std::string& given = {}, int sharing = 1);

/// A job counts as a gibibyte until the first peak is reported, then as 1.25 times the maximum peak so far.
class JobMemory {
 public:
  /// available: returns the bytes that are free now; called for each decision.
  explicit JobMemory(std::function<std::uint64_t()> available) : available_(std::move(available)) {}
  void measured(std::uint64_t peak_bytes) { peak_bytes_ = std::max(peak_bytes_, peak_bytes); }
  std::uint64_t available_bytes() const { return available_(); }
  std::uint64_t job_bytes() const noexcept {
    return peak_bytes_ ? peak_bytes_ + peak_bytes_ / 4 : std::uint64_t{1} << 30;
  }
  /// Whether one more job may start beside the running ones. They may have just begun, so each counts as if its memory
  /// were not yet in use. One job may always run.
  bool admits(std::size_t running) const { return running == 0 || available_() / job_bytes() > running; }

 private:
  std::function<std::uint64_t()> available_;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace xtune::worker

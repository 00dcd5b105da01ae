// What the tuner asks of the outside: compile this, try that. Workers stand behind both; tests put fakes there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/memory.hpp"
#include "ipc/job_memory.hpp"
#include "ipc/protocol.hpp"
#include "ipc/worker_pool.hpp"
#include "ipc/worker_process.hpp"

namespace xtune::ipc {

/// How often the benchmark of one configuration calls the spec's check: after the first launch and after the last one.
/// Each call may take [measure] timeout_s.
inline constexpr int check_calls = 2;
/// So many times [measure] timeout_s a reference may take.
double reference_timeout_factor(spec::ReferenceSpec::Kind kind) noexcept;

/// Compiles asynchronously, several jobs at once. A compiler that crashes, hangs or refuses answers with an outcome; an
/// Error of xtune's own (no compiler here, unknown architecture) comes out of the event loop.
class CompileService {
 public:
  using Callback = std::function<void(CompileAnswer)>;
  virtual ~CompileService() = default;
  virtual void compile(const CompileJob& job, double timeout_s, Callback callback) = 0;
  virtual std::size_t parallel() const noexcept = 0;  ///< jobs that run at once
  virtual void cancel_all() = 0;                      ///< no callback of an earlier job comes any more
};

/// Tries one configuration at a time on one device.
class BenchService {
 public:
  using Callback = std::function<void(BenchAnswer)>;
  using RoundsCallback = std::function<void(RoundsAnswer)>;
  virtual ~BenchService() = default;
  /// What every later job is about; sent to the worker with the first of them, and again to each new worker. A
  /// reference that hangs or crashes is Error(invalid_spec) at its place, out of the event loop.
  virtual void set_problem(OpenJob job) = 0;
  /// Gets ready for the problem ahead of the first job, as far as several devices may at once: opens the device, makes
  /// inputs and buffers, and leaves the reference to the job. What goes wrong comes out of the job, which tries it once
  /// more. A service may do nothing here.
  virtual void prepare() {}
  /// A configuration that takes the worker down answers with an outcome; the next job gets a fresh worker. Where others
  /// had used the worker before, it is tried once more in a fresh one, for they may have damaged its memory; likewise
  /// where the worker was killed from outside, which says nothing of the configuration the second time either.
  virtual void bench(const BenchJob& job, double timeout_s, Callback callback) = 0;
  /// All of them in one worker. Where they take it down, the answer does not say which one did.
  virtual void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) = 0;
  virtual void cancel_all() = 0;
};

/// Over a pool of `xtune worker compile` processes; fewer at once where memory is short. parallel() stays what it is:
/// the way of a search does not depend on how much memory is free today.
class PooledCompileService final : public CompileService {
 public:
  PooledCompileService(
      base::EventLoop& loop, std::size_t jobs, WorkerCommand command,
      std::function<std::uint64_t()> available_bytes = [] { return base::available_memory_bytes(); });
  /// A compiler that was killed, or had no memory left, is tried once more with no other beside it.
  void compile(const CompileJob& job, double timeout_s, Callback callback) override;
  std::size_t parallel() const noexcept override { return pool_.size(); }
  void cancel_all() override { pool_.cancel_all(); }

 private:
  CompileAnswer answer_of(const WorkerReply& reply, const std::string& backend, double timeout_s);
  bool is_own_limit() const;
  JobMemory memory_;
  const std::uint64_t limit_bytes_;
  WorkerPool pool_;
};

/// Over one `xtune worker bench` process.
class WorkerBenchService final : public BenchService {
 public:
  enum class Role {
    first,    ///< without its device there is no run: where that does not open, the Error comes out of the event loop
    further,  ///< a run does without: bench answers no_device
  };
  WorkerBenchService(base::EventLoop& loop, WorkerCommand command, Role role = Role::first);
  void set_problem(OpenJob job) override;
  void prepare() override;
  void bench(const BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;

 private:
  using Refused = std::function<void(const Error&)>;
  enum class OnDoubt { accept, ask_again };
  /// Asks a worker that knows the problem; Answer is what read makes of what it says, or of its end.
  template <class Answer>
  void ask(nlohmann::json message, double timeout_s, OnDoubt on_doubt, Answer (*read)(const nlohmann::json&),
           std::function<void(Answer)> callback, Refused refused);
  bool doubtful(const WorkerReply& reply) const;
  void open(std::function<void()> then, Refused refused);
  void prepare_reference(std::function<void()> then, Refused refused);
  void mention_printing(const std::string& text);  ///< the first time
  WorkerProcess worker_;
  Role role_;
  OpenJob problem_;
  std::uint64_t opened_generation_ = 0;    ///< the worker process that knows problem_ and its reference
  std::uint64_t prepared_generation_ = 0;  ///< the worker process that knows problem_
  std::function<void()> after_prepare_;    ///< the job that waits for prepare
  bool used_ = false;                      ///< it has run kernels
  bool refuted_ = false;                   ///< one of them did something wrong
  bool mentioned_printing_ = false;
};

/// argv and environment of this program's own workers. What is killed leaves its temporary files behind: they go to
/// `temporaries`, a directory that the caller removes. A compiler's address space is limited to a share of the
/// machine's memory.
WorkerCommand compile_worker_command(std::size_t jobs, const std::filesystem::path& temporaries);
WorkerCommand bench_worker_command(bool sanitize, const std::filesystem::path& temporaries);

/// XTUNE_JOBS: a count, or a fraction of the usable cores; default 0.9 of them, at least 1. Where this process may use
/// every core of the machine, and so may `sharing` - 1 others, it gets its part of them. Throws
/// Error(invalid_argument).
std::size_t default_jobs(int sharing = 1);

}  // namespace xtune::ipc

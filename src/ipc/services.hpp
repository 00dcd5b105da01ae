// The services that the tuner calls to compile and to measure. They are implemented by workers, and by fakes in tests.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "ipc/job_count.hpp"
#include "ipc/protocol.hpp"
#include "ipc/worker_pool.hpp"
#include "ipc/worker_process.hpp"

namespace xtune::ipc {

/// How often the benchmark of one configuration calls the spec's check: after the first launch and after the last one.
/// Each call may take [measure] timeout_s.
inline constexpr int check_calls = 2;
/// So many times [measure] timeout_s a reference may take.
double reference_timeout_factor(spec::ReferenceSpec::Kind kind) noexcept;

/// Compiles asynchronously, several jobs at once. A compiler that crashes, hangs or refuses gives an answer with an
/// outcome; an Error of xtune itself (no compiler here, unknown architecture) leaves the event loop.
class CompileService {
 public:
  using Callback = std::function<void(CompileAnswer)>;
  virtual ~CompileService() = default;
  virtual void compile(const CompileJob& job, double timeout_s, Callback callback) = 0;
  virtual std::size_t parallel() const noexcept = 0;  ///< maximum number of jobs at once
  virtual void cancel_all() = 0;                      ///< no callback of an earlier job is called after this
};

/// The problem of a bench service: the message that opens it in a worker, and what stays with the service.
struct Problem : OpenJob {
  std::function<void(const std::string&)> warn;  ///< receives messages for the user; may be empty
  /// Receives the samples of the reference kernel, in ms; may be empty.
  std::function<void(const std::vector<double>& samples_ms)> reference_timed;
  // The jobs that make artifacts; unset: there is none.
  std::optional<CompileJob> reference_job, check_kernel_job;
  std::function<CompileJob(const Bindings& config)> compile_job;  ///< of a BenchJob with this configuration
};

/// Tries one configuration at a time on one device.
class BenchService {
 public:
  using Callback = std::function<void(BenchAnswer)>;
  using RoundsCallback = std::function<void(RoundsAnswer)>;
  virtual ~BenchService() = default;
  /// Sets the problem of all later jobs; it is sent to the worker with the first job, and again to each new worker. If
  /// a reference hangs or crashes, Error(invalid_spec) at its place leaves the event loop.
  virtual void set_problem(Problem problem) = 0;
  /// Prepares for the problem before the first job, which several devices may do at once: opens the device, makes
  /// inputs and buffers, and leaves the reference to the job. The job tries again and reports errors. A service may do
  /// nothing here.
  virtual void prepare() {}
  /// Measures a configuration. If it crashes the worker, the answer has an outcome; the next job gets a new worker. If
  /// it fails where kernels that ran before may be the cause, since they ran in the same process, it is tried once more
  /// in a new one; likewise if the worker was killed from outside, which is not attributed to the configuration the
  /// second time either.
  virtual void bench(const BenchJob& job, double timeout_s, Callback callback) = 0;
  /// All of them in one worker. If they crash it, the answer does not show which one did.
  virtual void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) = 0;
  virtual void cancel_all() = 0;
};

/// Uses a pool of `xtune worker compile` processes; fewer at a time if there is little memory. parallel() does not
/// change, since a search must not depend on the amount of memory that is free today.
class PooledCompileService final : public CompileService {
 public:
  PooledCompileService(
      base::EventLoop& loop, std::size_t jobs, WorkerCommand command,
      std::function<std::uint64_t()> available_bytes = [] { return base::available_memory_bytes(); });
  /// A compiler that was killed, or ran out of memory, is tried once more while no other compiler runs.
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

/// Uses one `xtune worker bench` process.
class WorkerBenchService final : public BenchService {
 public:
  enum class Role {
    first,    ///< the run needs this device: if it cannot be opened, an Error leaves the event loop
    further,  ///< the run can continue without it: bench answers no_device
  };
  WorkerBenchService(base::EventLoop& loop, WorkerCommand command, Role role = Role::first);
  void set_problem(Problem problem) override;
  void prepare() override;
  void bench(const BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;

 private:
  using Refused = std::function<void(const Error&)>;
  /// What to ask a new worker again if the one that failed had run kernels before.
  enum class AskAgain { nothing, unless_it_died, everything };
  /// Sends a request to a worker that has the problem. `read` turns its reply, or its failure, into an Answer.
  template <class Answer>
  void ask(nlohmann::json message, double timeout_s, AskAgain again, Answer (*read)(const nlohmann::json&),
           std::function<void(Answer)> callback, Refused refused);
  bool doubtful(const WorkerReply& reply, AskAgain again) const;
  bool drop_used();
  void open(std::function<void()> then, Refused refused);
  void prepare_reference(std::function<void()> then, Refused refused);
  void mention_printing(const std::string& text, bool measured);  ///< the first time
  WorkerProcess worker_;
  Role role_;
  Problem problem_;
  std::uint64_t opened_generation_ = 0;    ///< the worker process that has problem_ and its reference
  std::uint64_t prepared_generation_ = 0;  ///< the worker process that has problem_
  std::function<void()> after_prepare_;    ///< the job that waits for prepare
  bool used_ = false;                      ///< it has run kernels
  bool refuted_ = false;                   ///< one of them did something wrong
  bool mentioned_printing_ = false;
};

/// argv and environment of this program's workers. Killed workers leave temporary files: they are in `temporaries`, a
/// directory that the caller removes. A compiler's address space is limited to a share of the machine's memory.
WorkerCommand compile_worker_command(std::size_t jobs, const std::filesystem::path& temporaries);
WorkerCommand bench_worker_command(bool sanitize, const std::filesystem::path& temporaries);

}  // namespace xtune::ipc

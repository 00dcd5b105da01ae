// The services of the tuner as worker processes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "system/files.hpp"
#include "system/machine.hpp"
#include "system/processes.hpp"
#include "worker/ipc/pool.hpp"
#include "worker/ipc/protocol.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::worker {

/// Uses a pool of `xtune worker compile` processes; fewer at a time if there is little memory. parallel() does not
/// change, since a search must not depend on the amount of memory that is free today.
class PooledCompileService final : public run::CompileService {
 public:
  PooledCompileService(
      system::EventLoop& loop, std::size_t jobs, WorkerCommand command,
      std::function<std::uint64_t()> available_bytes = [] { return system::available_memory_bytes(); });
  /// A compiler that was killed, or ran out of memory, is tried once more while no other compiler runs.
  void compile(const run::CompileJob& job, double timeout_s, Callback callback) override;
  std::size_t parallel() const noexcept override { return pool_.size(); }
  void cancel_all() override { pool_.cancel_all(); }

 private:
  run::CompileAnswer answer_of(const WorkerReply& reply, const std::string& backend, double timeout_s);
  bool is_own_limit() const;
  JobMemory memory_;
  const std::uint64_t limit_bytes_;
  WorkerPool pool_;
};

/// Uses one `xtune worker bench` process.
class WorkerBenchService final : public run::BenchService {
 public:
  enum class Role {
    first,    ///< the run needs this device: if it cannot be opened, an Error leaves the event loop
    further,  ///< the run can continue without it: bench answers no_device
  };
  WorkerBenchService(system::EventLoop& loop, WorkerCommand command, Role role = Role::first);
  void set_problem(run::Problem problem) override;
  void prepare() override;
  void bench(const run::BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const run::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
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
  void take_step(const nlohmann::json& message, double timeout_s, std::function<void()> then, Refused refused,
                 void (*throw_failure)(const run::OpenJob&, const WorkerReply&),
                 std::function<void(const WorkerReply&)> done);
  void open(std::function<void()> then, Refused refused);
  void prepare_reference(std::function<void()> then, Refused refused);
  void mention_printing(const std::string& text, bool measured);  ///< the first time; and a note of the emulator
  WorkerProcess worker_;
  Role role_;
  run::Problem problem_;
  std::uint64_t opened_generation_ = 0;    ///< the worker process that has problem_ and its reference
  std::uint64_t prepared_generation_ = 0;  ///< the worker process that has problem_
  std::function<void()> after_prepare_;    ///< the job that waits for prepare
  bool used_ = false;                      ///< it has run kernels
  bool refuted_ = false;                   ///< one of them did something wrong
  bool mentioned_printing_ = false, mentioned_note_ = false;
};

/// argv and environment of this program's workers. Killed workers leave temporary files: they are in `temporaries`, a
/// directory that the caller removes. A compiler's address space is limited to a share of the machine's memory.
WorkerCommand compile_worker_command(std::size_t jobs, const std::filesystem::path& temporaries);
WorkerCommand bench_worker_command(bool sanitize, const std::filesystem::path& temporaries);

/// The worker processes of a job. Their temporary files are in a directory that is removed with this object.
class JobWorkers {
 public:
  enum class Orphans { ignore, kill };
  /// jobs: maximum number of compilers at once. orphans: kill: processes that workers started end with this object
  /// (system::Descendants).
  JobWorkers(system::EventLoop& loop, std::size_t jobs, Orphans orphans = Orphans::ignore);
  /// Adds a bench worker for each device of the target. sanitize: kernels are built with the sanitizers.
  void add_benches(const run::Target& target, bool sanitize);

  run::CompileService& compiler() noexcept { return compiler_; }
  std::vector<run::BenchService*> benches() const;  ///< for target.device, then for each of target.further

 private:
  system::EventLoop& loop_;
  const system::TemporaryDirectory temporaries_;
  const std::unique_ptr<system::Descendants> descendants_;  ///< destroyed before the directory is removed
  PooledCompileService compiler_;
  std::vector<std::unique_ptr<WorkerBenchService>> benches_;
};

}  // namespace xtune::worker

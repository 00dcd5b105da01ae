// A bench service that compiles artifacts again if they disappear from the store during a run, because of `store gc` or
// a damaged disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/run/services.hpp"

namespace xtune::run {

/// Calls `bench`; if an answer names a missing artifact, compiles it into the run's scratch directory, which other
/// processes do not clean, and calls `bench` again. Callers never see such an answer. If an artifact is still missing
/// after it was compiled, in a new worker, or cannot be compiled again, Error(io) leaves the event loop.
class RebuildingBench final : public BenchService {
 public:
  /// Both must outlive it.
  RebuildingBench(BenchService& bench, CompileService& compiler, double compile_timeout_s);
  void set_problem(Problem problem) override;
  void prepare() override { bench_.prepare(); }
  void bench(const BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;
  /// Call it after CompileService::cancel_all: submits again the artifact that this service waits for.
  void compile_after_all();

 private:
  using Jobs = std::vector<const BenchJob*>;
  using Misses = std::map<std::string, int>;  ///< how often a job's answer named each artifact
  void bench_again(const BenchJob& job, double timeout_s, Callback callback, Misses misses);
  void rounds_again(const RoundsJob& job, double timeout_s, RoundsCallback callback, Misses misses);
  void supply(const std::string& key, const Jobs& jobs, Misses misses, const std::function<void(const Misses&)>& then);
  CompileJob job_of(const std::string& key, const Jobs& jobs) const;
  void rebuild(CompileJob job, std::function<void()> then);
  void compile();

  BenchService& bench_;
  CompileService& compiler_;
  const double compile_timeout_s_;
  std::optional<CompileJob> reference_, check_kernel_;
  std::function<CompileJob(const Bindings& config)> compile_job_;
  struct Pending {
    CompileJob job;
    std::function<void()> then;
  };
  std::shared_ptr<Pending> pending_;  ///< the artifact that is being compiled; a bench needs one at a time
};

}  // namespace xtune::run

// A bench service for which artifacts may go: what `store gc`, or a damaged disk, takes from the store during a run is
// compiled again.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "ipc/services.hpp"

namespace xtune::ipc {

/// Asks `bench`; where an answer names an artifact that is missing, compiles that into the run's scratch directory,
/// which no other process tidies, and asks again. Callers never see such an answer. An artifact that is missing again
/// after it was compiled, or does not compile again, is Error(io) out of the event loop.
class RebuildingBench final : public BenchService {
 public:
  /// Both outlive it.
  RebuildingBench(BenchService& bench, CompileService& compiler, double compile_timeout_s);
  void set_problem(OpenJob job) override;
  void prepare() override { bench_.prepare(); }
  void bench(const BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;
  /// After CompileService::cancel_all: what this one waits for is compiled after all.
  void compile_after_all();

 private:
  using Jobs = std::vector<const BenchJob*>;
  void bench_again(const BenchJob& job, double timeout_s, Callback callback, std::set<std::string> rebuilt);
  void rounds_again(const RoundsJob& job, double timeout_s, RoundsCallback callback, std::set<std::string> rebuilt);
  CompileJob job_of(const std::string& key, const Jobs& jobs) const;
  void rebuild(CompileJob job, std::function<void()> then);
  void compile();

  BenchService& bench_;
  CompileService& compiler_;
  const double compile_timeout_s_;
  std::shared_ptr<const CompileJob> reference_, check_kernel_;
  struct Pending {
    CompileJob job;
    std::function<void()> then;
  };
  std::shared_ptr<Pending> pending_;  ///< what is being compiled; a bench asks for one thing at a time
};

}  // namespace xtune::ipc

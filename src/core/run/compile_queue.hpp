// The compile jobs of a run that are in progress.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/run/compile_times.hpp"
#include "core/run/run_context.hpp"
#include "ipc/services.hpp"

namespace xtune::run {

/// Configurations that differ only in launch parameters share an artifact, which is compiled once for all that wait for
/// it. If the order of the jobs changes only the time at which the compilers end, jobs that are expected to take
/// longest start first (compile_times.hpp).
class CompileQueue {
 public:
  using Done = std::function<void(const TrialPtr& trial, const ipc::CompileAnswer& answer)>;
  /// longest_first: whether jobs are ordered. done: called for each trial, with its artifact. The references must
  /// outlive it.
  CompileQueue(const RunContext& run, ipc::CompileService& compiler, WorkerTotals& totals, bool longest_first,
               Done done);

  void start(const TrialPtr& trial);
  std::size_t trials() const noexcept { return trials_; }  ///< in progress; several may wait for one artifact
  bool longest_first() const noexcept { return longest_first_; }
  /// Cancels all jobs of the compilers, including those of other callers.
  void cancel_all();

 private:
  void finish(const std::string& key, const ipc::CompileAnswer& answer);
  const RunContext& run_;
  ipc::CompileService& compiler_;
  WorkerTotals& totals_;
  const bool longest_first_;
  const Done done_;
  std::unordered_map<std::string, std::vector<TrialPtr>> waiting_;  ///< by the artifact's key
  std::size_t trials_ = 0;
  CompileTimes times_;
  std::optional<std::int64_t> first_start_ns_;
  bool warned_of_cache_ = false;
};

}  // namespace xtune::run

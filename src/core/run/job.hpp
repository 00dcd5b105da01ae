// A tuning job as every caller assembles it: its workers, and what its runs share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/descendants.hpp"
#include "base/files.hpp"
#include "core/record/record_log.hpp"
#include "core/run/tuner.hpp"
#include "core/store/growing_records.hpp"

namespace xtune::run {

/// What a caller sets instead of the spec's [search]; the rest stays as the spec has it.
struct SearchSettings {
  std::string strategy;
  std::optional<std::uint64_t> evals, seed;
  std::optional<double> seconds;
};
void apply(const SearchSettings& settings, spec::SearchSpec& search);

/// The worker processes of a job. They keep their temporary files in a directory that is removed with this object.
class JobWorkers {
 public:
  enum class Orphans { ignore, kill };
  /// jobs: compilers that run at once. kill: what the workers started ends with this object (base::Descendants).
  JobWorkers(base::EventLoop& loop, std::size_t jobs, Orphans orphans = Orphans::ignore);
  /// Adds a bench worker for each device of the target. sanitize: kernels are built with the sanitizers.
  void add_benches(const target::Target& target, bool sanitize);

  ipc::CompileService& compiler() noexcept { return compiler_; }
  std::vector<ipc::BenchService*> benches() const;  ///< of target.device, then of each of target.further

 private:
  base::EventLoop& loop_;
  const base::TemporaryDirectory temporaries_;
  const std::unique_ptr<base::Descendants> descendants_;  ///< gone before the directory is removed
  ipc::PooledCompileService compiler_;
  std::vector<std::unique_ptr<ipc::WorkerBenchService>> benches_;
};

/// What the runs of one spec share: the store, the records that they read there, and what was asked of all of them.
class TuningJob {
 public:
  /// settings: TuneOptions of every run, but for scratch, attempt and records. keeps: whether settings.store keeps what
  /// is measured; else each run has a store in its scratch directory.
  TuningJob(TuneOptions settings, bool keeps) : settings_(std::move(settings)), keeps_(keeps) {}

  /// Of the next run. scratch: of its problem. The options are valid as long as this object.
  TuneOptions next_run(const spec::Spec& spec, const target::Target& target, const std::filesystem::path& scratch);
  std::filesystem::path store_of(const std::filesystem::path& scratch) const;
  /// Ids of all runs.
  const std::set<std::string>& attempts() const noexcept { return attempts_; }
  /// The stored records that may answer for a case beside what its run found; none where all are measured again.
  record::RecordSet stored(const spec::Spec& spec, const target::Target& target) const;

 private:
  const TuneOptions settings_;
  const bool keeps_;
  std::set<std::string> attempts_;
  std::map<std::string, store::GrowingRecords> records_;  ///< by architecture
};

}  // namespace xtune::run

// A tuning job in the form that all callers use: the common state of its runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/record/record_log.hpp"
#include "core/run/tuner.hpp"
#include "core/store/store_view.hpp"
#include "system/chosen_store.hpp"

namespace xtune::run {

/// Settings of a caller that replace the spec's [search]; unset ones do not.
struct SearchSettings {
  std::string strategy;
  std::optional<std::uint64_t> evals, seed;
  std::optional<double> seconds;
};
void apply(const SearchSettings& settings, spec::SearchSpec& search);

/// The common state of the runs of one spec: the store, its records, and the options of all runs.
class TuningJob {
 public:
  /// settings: TuneOptions of every run, except scratch, attempt and records. kept: what settings.store keeps; for the
  /// rest each run has a store in its scratch directory.
  TuningJob(TuneOptions settings, system::Kept kept) : settings_(std::move(settings)), kept_(kept) {}

  /// Options of the next run. scratch: for its problem. The options are valid as long as this object.
  TuneOptions next_run(const spec::Spec& spec, const target::Target& target, const std::filesystem::path& scratch);
  std::filesystem::path artifacts_of(const std::filesystem::path& scratch) const;
  /// Ids of all runs.
  const std::set<std::string>& attempts() const noexcept { return attempts_; }
  /// The stored records that can be used for a case in addition to its run's results; none if all are measured again.
  record::RecordSet stored(const spec::Spec& spec, const target::Target& target) const;

 private:
  const TuneOptions settings_;
  const system::Kept kept_;
  std::set<std::string> attempts_;
  std::optional<bool> busy_;
  std::map<std::string, store::GrowingRecords> records_;  ///< by architecture
};

}  // namespace xtune::run

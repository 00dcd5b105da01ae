// A tuning job in the form that all callers use: the common state of its runs, and one configuration for several cases.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/run/tuner.hpp"
#include "core/store/objective.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "system/chosen_store.hpp"

namespace xtune::run {

/// Settings of a caller that replace the spec's [search]; unset ones do not.
struct SearchSettings {
  std::string strategy, effort;
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
  TuneOptions next_run(const spec::Spec& spec, const run::Target& target, const std::filesystem::path& scratch);
  std::filesystem::path artifacts_of(const std::filesystem::path& scratch) const;
  /// Ids of all runs.
  const std::set<std::string>& attempts() const noexcept { return attempts_; }
  /// The stored records that can be used for a case in addition to its run's results; none if all are measured again.
  store::RecordSet stored(const spec::Spec& spec, const run::Target& target) const;

 private:
  const TuneOptions settings_;
  const system::Kept kept_;
  std::set<std::string> attempts_;
  std::optional<bool> busy_;
  std::map<std::string, store::GrowingRecords> records_;  ///< by architecture
};

/// The `count` best configurations of each case, each once.
std::vector<Bindings> shortlist(const store::Objective& objective, const std::vector<TuneResult>& cases,
                                std::size_t count);

/// The configurations in the list that the case has neither measured in full nor seen fail.
std::vector<Bindings> not_measured(const TuneResult& of_case, const std::vector<Bindings>& list);

/// A case in the form for choose_across. Does not own the result's records.
store::CaseRecords records_of(const TuneResult& of_case);

/// Measures the eight best of each case in full in the other cases too, and adds the measurements to their results.
/// measure: runs the case with this index with exactly these configurations. Ends early once `stopped` returns true.
void measure_across(const store::Objective& objective, std::vector<TuneResult>& cases,
                    const std::function<TuneResult(std::size_t, const std::vector<Bindings>&)>& measure,
                    const std::function<bool()>& stopped);

/// A case that was run: its spec, which may differ between cases because of data, its problem, and its result.
struct RunCase {
  const spec::Spec* spec;
  const TuneResult* result;
};

/// choose_across over the results of the runs and those of `stored` that can be used for each case, so that `xtune
/// best` gives the same answer. The result refers to the records of both.
std::optional<store::AcrossChoice> choose_across(const std::vector<RunCase>& cases, const run::Target& target,
                                                 const std::vector<store::Record>& stored);

}  // namespace xtune::run

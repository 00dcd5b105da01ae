// Processes the result of each configuration, measured here or known from the store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/run/calibration.hpp"
#include "core/run/device_pool.hpp"
#include "core/run/incumbent_tracker.hpp"
#include "core/run/pruned_results.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_results.hpp"
#include "core/run/store_answers.hpp"

namespace xtune::run {

/// All outcomes are processed in the same way, so that a search resumes from the store as it went before: the result is
/// counted, the search observes it, it may become the best or the incumbent, and a configuration that passed may
/// calibrate the devices.
class ResultLedger {
 public:
  struct Listeners {
    /// The outcome of a proposal; called once for each.
    std::function<void(std::uint64_t number, const search::Observation& outcome)> observe;
    std::function<void()> progress;
  };
  /// The references must outlive it.
  ResultLedger(const RunContext& run, RecordKeeper& keeper, StoreAnswers& store, const DevicePool& devices,
               Calibration& calibration, Listeners listeners);

  /// Stores and counts a trial that was carried out. log: of the compiler or sanitizer.
  void finish(Trial& trial, const std::string& log);
  /// Whether the store has the proposal's result, which then counts.
  bool serve(const SearchPath::Proposal& proposal, const store::KeyDigest& key);
  /// Whether a trial that another process had claimed is in the store by now; then it counts.
  bool has_come(const Trial& trial);
  /// Uses other processes' records for the race: challengers race the best of all, which may be measured long before
  /// this process reaches its place.
  void race_best_of(const std::vector<record::Record>& news);
  /// A configuration that lost its race and may nevertheless be among the best, to be measured in full; null: none.
  TrialPtr take_doubtful();
  /// A configuration that passed before turned out to be wrong: its earlier results are no longer used.
  void refute(const record::Record& wrong);

  RunResults& results() noexcept { return results_; }
  IncumbentTracker& incumbent() noexcept { return incumbent_; }

 private:
  using Row = store::GrowingRecords::Row;
  /// The reference is valid until the next call.
  const record::Record& book(const Trial& trial, record::Record record, const std::string& log, bool from_store);
  void book_row(const SearchPath::Proposal& proposal, const Row& row);
  void race(std::uint64_t index, const record::Record& record, bool stored);
  void race_row(std::uint64_t index, const Row& row);
  bool still_loses(const PrunedResults::Pruned& one);

  const RunContext& run_;
  RecordKeeper& keeper_;
  StoreAnswers& store_;
  const DevicePool& devices_;
  Calibration& calibration_;
  const Listeners listeners_;
  RunResults results_;
  PrunedResults pruned_;
  IncumbentTracker incumbent_;
};

}  // namespace xtune::run

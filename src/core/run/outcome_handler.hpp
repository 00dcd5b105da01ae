// The result of each configuration, measured here or known from the store: what it changes in a run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/race.hpp"
#include "core/record/record.hpp"
#include "core/run/device_pool.hpp"
#include "core/run/history.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/results.hpp"
#include "core/run/run_context.hpp"
#include "core/run/search_path.hpp"

namespace xtune::run {

/// Challengers race the fastest clean result so far; if the `top` best are requested, the slowest of those, so that
/// each of them is measured in full.
///
/// All times here are relative to the first device of the run: a caller divides times of another device by its
/// slowness. A device's speed drifts with its temperature and clocks, so a time of the incumbent from ten minutes ago
/// would not be a fair comparison. The incumbent is therefore measured again after 40 races (8, if another run measured
/// it: the device may have changed in all but name), if that costs at most a twentieth of the device time of the races.
/// The new time replaces the old one unless it is tainted.
class IncumbentTracker {
 public:
  /// statistic: the one that ranks.
  IncumbentTracker(measure::Statistic statistic, std::size_t top);

  /// An ok result. index: in the space; slowness: of the device that measured it; stored: measured by another run.
  void consider(std::uint64_t index, const record::Record& record, double slowness, bool stored);
  /// Whether an ok result with this time would change anything here.
  bool may_lead(double time_ms, bool clean) const;
  /// The incumbent for a challenger's race; nullopt: none yet.
  std::optional<measure::Incumbent> bar() const;
  void clear();

  /// A challenger was measured, which used the device for busy_s.
  void count_race(double busy_s);
  /// The incumbent's index in the space if it must be measured again. Returned once: then nullopt until remeasured.
  std::optional<std::uint64_t> take_due();
  /// The configuration with this key was measured again, or that failed: the count of races starts from zero. Returns
  /// the incumbent's first record; null: another configuration is the incumbent by now.
  const record::Record* remeasured(const std::string& key);
  /// The incumbent's new time, and the device time that it cost.
  void update(const measure::Summary& time_ms, double busy_s);

 private:
  struct Best {
    std::uint64_t index;
    record::Record record;         ///< the first one
    measure::Incumbent incumbent;  ///< from the last measurement
    double time_ms;                ///< from the last measurement, by the statistic
    double cost_s;                 ///< device time to measure it once more
    bool stored;                   ///< measured by another run
    std::size_t races = 0;         ///< of others since it was measured last
    double busy_s = 0;             ///< device time since then
    bool asked = false;            ///< its measurement is in progress
  };
  const measure::Statistic statistic_;
  const std::size_t top_;
  std::optional<Best> best_;
  std::vector<std::pair<double, measure::Incumbent>> leaders_;  ///< the fastest clean ones by the statistic, up to top_
};

/// All outcomes are handled in the same way, so that a search resumes from the store as it went before: the result is
/// counted, the search observes it, it may become the best or the incumbent, and a configuration that passed may
/// calibrate the devices.
class OutcomeHandler {
 public:
  /// progress: called after each result. The references must outlive it.
  OutcomeHandler(const RunContext& run, RecordKeeper& keeper, History& history, SearchPath& path,
                 const DevicePool& devices, Calibration& calibration, std::function<void()> progress);

  /// Stores and counts a trial that was carried out. log: of the compiler or sanitizer.
  void finish(Trial& trial, const std::string& log);
  /// Whether the store has the proposal's result, which then counts.
  bool serve(const SearchPath::Proposal& proposal);
  /// Whether a trial that another process had claimed is in the store by now; then it counts.
  bool has_come(const Trial& trial);
  /// Uses other processes' records for the race: challengers race the best of all, which may be measured long before
  /// this process reaches its place.
  void race_best_of(const std::vector<record::Record>& news);
  /// A configuration that lost its race and may nevertheless be among the best, to be measured in full; null: none.
  TrialPtr take_doubtful();
  /// A configuration that passed before turned out to be wrong: its earlier results are no longer used.
  void refute(const record::Record& wrong);

  Results& results() noexcept { return results_; }
  IncumbentTracker& incumbent() noexcept { return incumbent_; }

 private:
  using Row = store::GrowingRecords::Row;
  void handle(const Trial& trial, record::Record record, const std::string& log, bool from_store);
  void handle(const SearchPath::Proposal& proposal, const Row& row);
  void race(std::uint64_t index, const record::Record& record, bool stored);
  void race(std::uint64_t index, const Row& row);
  bool still_loses(const Results::Pruned& one);

  const RunContext& run_;
  RecordKeeper& keeper_;
  History& history_;
  SearchPath& path_;
  const DevicePool& devices_;
  Calibration& calibration_;
  const std::function<void()> progress_;
  Results results_;
  IncumbentTracker incumbent_;
};

}  // namespace xtune::run

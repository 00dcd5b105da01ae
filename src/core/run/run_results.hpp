// What a run found so far: its records and rows, its counts, the best, the incumbent of the race, and the
// configurations that lost it; and what each further result changes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/race.hpp"
#include "core/run/run_context.hpp"
#include "core/run/search_path.hpp"
#include "core/run/stored_results.hpp"
#include "core/store/record.hpp"

namespace xtune::run {

struct RunParts;

/// Builds the TuneResult.
///
/// Of a million stored results nearly all stay rows of about 200 bytes: they count, and they may be the best. Their
/// records are read if the finals or the report need them, and for one or two failures of each outcome as examples.
///
/// A pruned result shows only that its configuration was slower than the incumbent at that time. Another run's
/// incumbent may have been faster than the best of this run, and an incumbent may turn out to be wrong later.
/// Therefore, before the finals each pruned result is compared with the best of this run: if its samples do not show it
/// to be slower, it is doubtful, and its configuration is measured in full, the one with the minimum sample first.
/// Those that lost again are compared once more only if the best was refuted, or the device changed its speed.
class RunResults {
 public:
  struct Pruned {
    std::uint64_t index;                ///< in the space
    std::optional<std::size_t> record;  ///< index in records(); unset: it is the row
    Row row = nullptr;
  };
  explicit RunResults(const RunContext& run);

  /// Adds an evaluated configuration's record, or replaces one by the record of its settling trial. The
  /// reference is valid until the next call.
  const store::Record& put(const Trial& trial, store::Record record);
  /// Adds a stored result that stays a row. index: of its configuration in the space.
  void put(std::uint64_t index, Row row);
  /// Adds records of finals and others on which the answer is based.
  void add_further(store::Record record) { result_.further.push_back(std::move(record)); }
  void count_stored(bool from_peers);
  /// A pruned record may have been measured while the device was this slow.
  void bound(std::size_t place, double slowness);
  /// Those that lost are compared with the best once more.
  void compare_losers_again();
  /// Results with this key turned out to be wrong: they are replaced by this record, and the best is chosen again.
  void refute(const store::Record& wrong);
  /// Removes and returns the most promising pruned one that is doubtful. lost: whether it is slower than the best of
  /// this run.
  std::optional<Pruned> take_doubtful(const std::function<bool(const Pruned&)>& lost);

  bool has_best() const noexcept { return best_score_.has_value(); }
  /// The best by the criterion. Requires has_best.
  const store::Record& best();
  /// The best; for a row possibly only configuration and times; null: there is none.
  const store::Record* shown_best() const;
  std::uint64_t evaluated() const noexcept { return evaluated_; }
  const std::vector<store::Record>& records() const noexcept { return result_.records; }
  /// Ok results with a finite time that are not among the records.
  const store::ConfigOrder& rows() const noexcept { return rows_; }
  /// Reads the rows that may be among this many finalists.
  void read_best(std::size_t count);
  /// Reads the best of the rows whose intervals begin within reach, up to `count`.
  void read_within(std::size_t count, double reach_ms);
  /// Reads the rows that a report shows: the best, and ties with the first of them.
  void read_reported();
  /// To be completed and returned at the end of the run.
  TuneResult& result() noexcept { return result_; }

 private:
  void consider(std::size_t place);
  void consider(Row row);
  void choose_best();
  void add_read(store::Record record, Outcome outcome);
  void read_example(Row failure);
  void read_where(std::size_t count, const std::function<bool(Row)>& wanted);
  void read_first(std::size_t count);

  struct Example {
    int explained = 0;
    bool sanitizer_report = false;
  };
  struct BestRow {
    Row row = nullptr;
    store::Record shown;
    std::optional<store::Record> whole;  ///< set at first use
  };
  const RunContext& run_;
  TuneResult result_;
  std::uint64_t evaluated_ = 0;
  store::ConfigOrder rows_;
  std::size_t first_read_ = 0;           ///< number of rows before all of rows_ that were read
  std::map<Outcome, Example> examples_;  ///< messages of the failures that were read
  std::vector<Pruned> open_;
  std::vector<Pruned> lost_;  ///< slower than the best of this run, too
  std::optional<double> best_score_;
  std::size_t best_ = 0;  ///< index in the records, unless best_row_ is set
  std::optional<BestRow> best_row_;
};

/// What the results show together: a reference that is suspect, because more configurations differ from it in the same
/// way than agree with it; and without a reference, elements of outputs that configurations leave unwritten.
std::vector<std::string> doubts(const spec::Spec& spec, const TuneResult& result);

/// Challengers race the fastest clean result so far; if the `top` best are requested, the slowest of those, so that
/// each of them is measured in full.
///
/// All times here are relative to the first device at the run's start: a caller divides other times by the slowness of
/// their device and of their moment. A device's speed drifts with its temperature and clocks, so a time of the
/// incumbent from ten minutes ago would not be a fair comparison. The incumbent is therefore measured again after 40
/// races (8, if another run measured it: the device may have changed in all but name). The new time replaces the old
/// one unless it is tainted. If another one has become the incumbent since, the former one is measured, after 8 races
/// if it was clearly beaten: perhaps the device has become faster.
class IncumbentTracker {
 public:
  static constexpr std::size_t check_rounds = 7;  ///< launches in which the incumbent is measured again
  /// statistic: the one that ranks.
  IncumbentTracker(measure::Statistic statistic, std::size_t top);

  /// An ok result. index: in the space; slowness: of the device that measured it; stored: measured by another run.
  void consider(std::uint64_t index, const store::Record& record, double slowness, bool stored);
  /// Whether an ok result with this time would change anything here.
  bool may_lead(double time_ms, bool clean) const;
  /// The incumbent for a challenger's race; nullopt: none yet.
  std::optional<measure::Incumbent> bar() const;
  void clear();

  /// A challenger was measured.
  void count_race();
  /// The index in the space of what must be measured again: the incumbent, or the former one that was last checked, as
  /// only a time from before shows whether the device has changed its speed. Returned once: then nullopt until
  /// remeasured. last: the search is over, and 20 races are enough.
  std::optional<std::uint64_t> take_due(bool last = false);
  /// The configuration with this key was measured again, or that failed: the count of races starts from zero. Returns
  /// its first record, until the next call; null: another configuration is the incumbent by now.
  const store::Record* remeasured(const std::string& key);
  /// The new time of the configuration with this key, if it is the incumbent.
  void update(const std::string& key, const measure::Summary& time_ms);

 private:
  struct Best {
    std::uint64_t index;
    store::Record record;          ///< the first one
    measure::Incumbent incumbent;  ///< from the last measurement
    double time_ms;                ///< from the last measurement, by the statistic
    bool in_doubt;                 ///< measured by another run, or clearly slower than another one since
    std::size_t races = 0;         ///< of others since it was measured last
    bool asked = false;            ///< its measurement is in progress
  };
  const measure::Statistic statistic_;
  const std::size_t top_;
  std::optional<Best> best_;
  std::optional<Best> former_;  ///< the incumbent at the last check, if another one is by now
  store::Record checked_;       ///< of the last check
  std::vector<std::pair<double, measure::Incumbent>> leaders_;  ///< the fastest clean ones by the statistic, up to top_
};

/// All outcomes are handled in the same way, so that a search resumes from the store as it went before: the result is
/// counted, the search observes it, it may become the best or the incumbent, and a configuration that passed may
/// calibrate the devices.
class OutcomeHandler {
 public:
  explicit OutcomeHandler(RunParts& run);

  /// Stores and counts a trial that was carried out. log: of the compiler or sanitizer.
  void finish(Trial& trial, const std::string& log);
  /// Whether the store has the proposal's result, which then counts.
  bool serve(const SearchPath::Proposal& proposal);
  /// Whether a trial that another process had claimed is in the store by now; then it counts.
  bool has_come(const Trial& trial);
  /// Uses other processes' records for the race: challengers race the best of all, which may be measured long before
  /// this process reaches its place.
  void race_best_of(const std::vector<store::Record>& news);
  /// The configuration with this key was measured again; `before`: the slowness that was assumed until then. If it has
  /// changed, the moment is unknown: what was measured in full since the last check is measured again, and what lost is
  /// taken to have lost at the slower speed.
  void follow_speed(const std::string& key, double before);
  /// A configuration to be measured in full: it lost its race and may nevertheless be among the best, or the speed at
  /// which it was measured is unknown; null: none.
  TrialPtr take_doubtful();
  /// What lost to the best is compared with one that is slower by this factor: the best was only lucky.
  void race_slower(double factor);
  /// A configuration that passed before turned out to be wrong: its earlier results are no longer used.
  void refute(const store::Record& wrong);

  RunResults& results() noexcept { return results_; }
  IncumbentTracker& incumbent() noexcept { return incumbent_; }

 private:
  void handle(const Trial& trial, store::Record record, const std::string& log, bool from_store);
  void handle(const SearchPath::Proposal& proposal, Row row);
  void race(std::uint64_t index, const store::Record& record, bool stored);
  void race(std::uint64_t index, Row row);
  /// Chooses the incumbent again. stored: it is to be checked before long.
  void race_all(bool stored);
  bool still_loses(const RunResults::Pruned& one);

  RunParts& run_;
  RunResults results_;
  IncumbentTracker incumbent_;
  std::size_t checked_ = 0;       ///< number of records at the last check
  std::set<std::size_t> unsure_;  ///< of the records: measured in full at an unknown speed
  double slower_ = 1;             ///< than the best: what losers are compared with
};

}  // namespace xtune::run

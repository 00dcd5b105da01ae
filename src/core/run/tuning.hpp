// One run of the tuner: its state, and what it does next. Internal to the tuner.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/finals.hpp"
#include "core/record/objective.hpp"
#include "core/record/record_log.hpp"
#include "core/resolve/measurement_keys.hpp"
#include "core/resolve/resolve.hpp"
#include "core/run/block_walk.hpp"
#include "core/run/compile_times.hpp"
#include "core/run/finals.hpp"
#include "core/run/reference_plan.hpp"
#include "core/run/search_path.hpp"
#include "core/run/stored_results.hpp"
#include "core/run/time_stamps.hpp"
#include "core/run/tuner.hpp"
#include "core/store/growing_records.hpp"
#include "ipc/rebuilding_bench.hpp"

namespace xtune {

/// One configuration on its way to a record.
struct Trial {
  enum class Purpose {
    search,     ///< proposed by the strategy
    settle,     ///< lost a race against another best than today's: measured in full
    drift,      ///< the incumbent once more
    calibrate,  ///< what passed before, in full, to compare devices
    finalist,   ///< to be measured in finals
  };
  Purpose purpose = Purpose::search;
  SearchPath::Proposal proposal;
  Config config;
  Launch launch;
  CompileRequest request;
  Artifact artifact;
  Record record;
  Lack lack = Lack::none;  ///< what the machine lacked: its record is not stored
  /// settle: the place of the record that was pruned, in TuneResult::records; unset: it is a row of the store.
  std::optional<std::size_t> replaces;
};
using TrialPtr = std::shared_ptr<Trial>;

/// A device that measures.
struct Lane {
  enum class State {
    idle,  ///< not compared with the first one yet; the first one works nevertheless
    in,
    out,  ///< measures nothing in this run
  };
  BenchService* bench = nullptr;
  DeviceInfo device;
  State state = State::idle;
  bool busy = false;
  double slowness = 1;  ///< time of a configuration here over its time on the first device
};

/// By name; nullopt: the space has other parameters, or does not allow it.
std::optional<std::uint64_t> index_of(const Space& space, const Bindings& config);

class Tuning {
 public:
  Tuning(const Spec& spec, const Bindings& problem, const Target& target, const TuneOptions& options, EventLoop& loop,
         CompileService& compiler, const std::vector<BenchService*>& benches, Clock& clock, TuneObserver& observer,
         const std::atomic<bool>& stop);
  TuneResult go();

 private:
  // tuner_search.cpp: what is tried.
  std::unique_ptr<Strategy> make_search(const Bindings& problem);
  void stop_where_asked();
  TrialPtr make_trial(std::uint64_t index);
  KeyDigest key_at(std::uint64_t index);
  void consider(const SearchPath::Proposal& proposal);
  void begin(const TrialPtr& trial);
  std::size_t window() const;

  // tuner_store.cpp: what the store answers.
  using Row = GrowingRecords::Row;
  std::vector<Row> read_store(const Bindings& problem);
  bool reads_all() const { return !options_.best_only || criterion_.score; }
  bool learns_from_store() const;
  std::optional<Record> read(const Row& row);
  bool serve_from_store(const SearchPath::Proposal& proposal, const KeyDigest& key);
  void serve_record(const SearchPath::Proposal& proposal, Record record);
  void serve_row(const SearchPath::Proposal& proposal, const Row& row);
  void consider_best(const Row& row);
  void challenge(const Row& row, std::uint64_t index);
  void refute_row(const Record& wrong);
  void keep_example(const Row& row);
  const Record& best();
  void read_served(std::size_t most, double reach_ms);
  void read_first(std::size_t most);
  void read_best(std::size_t most);
  void read_reported();
  std::vector<const Record*> rivals();

  // tuner_peers.cpp: what other processes do of the same search.
  bool ours(const TrialPtr& trial, const std::string& claim);
  bool waits_for_peers() const;
  void leave_peers();
  void share_in_blocks();
  std::optional<SearchPath::Proposal> next_proposal();
  void tell_peers();
  void look_at_blocks();
  void consider_news(const std::vector<Record>& news);
  void look_at_peers_later();
  void look_at_peers();
  bool has_come(const TrialPtr& trial);

  // tuner.cpp: the loop, and what is compiled.
  double elapsed_s() const { return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9; }
  bool time_is_up(double share = 1) const {
    return spec_.search.seconds && elapsed_s() >= share * *spec_.search.seconds;
  }
  bool stopping() const { return stop_.load(std::memory_order_relaxed) || time_is_up(); }
  bool draining() const { return options_.drain && options_.drain->load(std::memory_order_relaxed); }
  bool races() const { return spec_.measure.race && !criterion_.score && options_.only.empty(); }
  bool holds_finals() const { return spec_.measure.finals >= 2 && criterion_.times && options_.only.empty(); }
  bool exhausted() const { return blocks_ ? blocks_->over() : path_.exhausted(); }
  bool search_is_over();
  std::size_t benching() const;
  std::uint64_t in_flight() const { return compiling_ + ready_.size() + finalists_.size() + benching(); }
  void pump();
  bool may_compile() const { return !alternate_ || (ready_.empty() && benching() == 0 && !batch_closed_); }
  /// Compilers need not wait for a slow device unless the search does; the more of them wait, the better their order.
  bool room() const {
    if (alternate_ || path_.learns()) return in_flight() < batch_;
    return compiling_ < (orders_compiles() ? 2 : 1) * batch_;
  }
  /// Where every configuration is compiled in the end, and none is waited for: the longest first.
  bool orders_compiles() const { return !path_.learns() && !spec_.search.seconds && !options_.peers; }
  bool may_bench() const { return problem_set_ && (!alternate_ || compiling_ == 0); }
  void start_compile(const TrialPtr& trial);
  void on_compiled(const std::string& key, const CompileAnswer& answer);
  using CheckKernel = std::pair<std::optional<Artifact>, std::shared_ptr<const CompileJob>>;
  void compile_check_kernel(std::function<void(CheckKernel)> done);
  CompileJob compile_job(const std::string& key, CompileRequest request) const;
  void prepare_bench(const Config& config);
  BenchJob job_of(const Trial& trial) const;

  // tuner_results.cpp: what comes of it.
  void fill(Record& record, const Trial& trial, const Lane& lane, const BenchAnswer& answer) const;
  void on_benched(const TrialPtr& trial, Lane& lane, const BenchAnswer& answer);
  void finish(Trial& trial, const std::string& log);
  void stamp(Record& record);
  void store(const Record& record);
  void leave_out(const Record& record);
  void take(const Trial& trial, Record record, const std::string& log, bool from_store);
  void consider_best(std::size_t place);
  void report();

  // tuner_devices.cpp: who measures what.
  void give_work();
  void start_bench(Lane& lane);
  void seek_calibration();
  void calibrate(Lane& lane);
  void calibrate_with_another();
  void judge(Lane& lane, const BenchAnswer& answer);
  void leave(Lane& lane, const std::string& why);
  double slowness_of(const DeviceInfo& device) const;
  Lane& first() { return lanes_.front(); }

  // tuner_race.cpp: the incumbent.
  void consider_incumbent(const TrialPtr& trial, bool from_store);
  bool may_lead(const Row& row) const;
  std::optional<Incumbent> bar() const;
  void follow_drift();
  void measure_incumbent(const TrialPtr& trial);

  // tuner_finals.cpp: what follows the search.
  bool go_on_after_search();
  bool settle();
  bool start_finals();
  bool have_met(const std::vector<std::string>& keys) const;
  bool take_stored_finals(const std::vector<std::string>& keys, Tainted tainted, std::int64_t since_unix_ms = 0);
  std::vector<const Record*> contenders();
  void hold_finals();
  void on_finals(std::vector<FinalistResult> results, const std::vector<std::string>& taints);
  void refute(const Record& wrong);

  const Spec& spec_;
  const Target& target_;
  const TuneOptions& options_;
  EventLoop& loop_;
  CompileService& compiler_;
  std::vector<std::unique_ptr<RebuildingBench>> benches_;  ///< of the lanes
  std::vector<Lane> lanes_;
  Clock& clock_;
  TimeStamps stamps_;
  TuneObserver& observer_;
  const std::atomic<bool>& stop_;
  const std::int64_t start_ns_;
  const Space space_;
  const CandidateResolver resolver_;
  MeasurementKeys keys_;
  const Objective objective_;
  const Criterion criterion_;  ///< with a score where time alone does not decide
  const std::uint64_t evals_;
  const bool alternate_;
  const std::size_t batch_;                    ///< configurations in flight at most; see room()
  std::optional<GrowingRecords> own_records_;  ///< unset: TuneOptions::records
  GrowingRecords& store_records_;
  std::vector<Row> rows_;  ///< what read_store gave; moved into stored_
  SearchPath path_;

  StoredResults stored_;
  std::optional<RecordWriter> writer_;
  std::unordered_map<std::string, std::vector<TrialPtr>> waiting_for_artifact_;
  std::deque<TrialPtr> ready_;
  CompileTimes compile_times_;
  std::size_t compiling_ = 0;  ///< trials, not jobs: several may wait for one artifact
  bool batch_closed_ = false;  ///< alternating: compiling has ended, the device's turn lasts until ready_ is empty
  bool problem_set_ = false;   ///< the bench service knows inputs and reference
  bool search_cut_ = false;    ///< its share of the seconds is spent
  std::uint64_t answers_ = 0;  ///< of both services
  std::optional<std::int64_t> first_compile_ns_;
  bool warned_of_cache_ = false;
  std::optional<double> best_score_;
  std::size_t best_ = 0;  ///< index into result_.records, unless best_row_ is set
  struct BestRow {
    Row row;
    Record shown;                 ///< configuration and times
    std::optional<Record> whole;  ///< once it was asked for
  };
  std::optional<BestRow> best_row_;
  std::vector<Row> served_;     ///< ok ones that are not in result_.records
  std::size_t first_read_ = 0;  ///< so many that rank before all of them are
  std::deque<Record> rivals_;   ///< stored ones that this run did not evaluate, read for the finals
  std::uint64_t evaluated_ = 0;
  struct Example {
    bool explained = false, sanitizer_report = false;
  };
  std::map<Outcome, Example> examples_;  ///< of failures, what those that were read say
  std::unique_ptr<ReferenceBuilder> reference_;

  /// The best so far as challengers meet it.
  struct Throne {
    TrialPtr trial;         ///< its configuration, and its first record
    Incumbent incumbent;    ///< as measured last, as the first device would take it
    double time_ms = 0;     ///< likewise, by the spec's statistic
    double cost_s = 0;      ///< of the device, to measure it once more
    std::size_t races = 0;  ///< of others since it was measured last
    double busy_s = 0;      ///< of the device meanwhile
    bool stored = false;    ///< measured by another run
    bool asked = false;     ///< its measurement is under way
  };
  std::optional<Throne> throne_;
  /// The fastest so far, TuneOptions::top at most: by the spec's statistic, and as a challenger meets them, both as the
  /// first device would take it. Tainted ones are not among them.
  std::vector<std::pair<double, Incumbent>> leaders_;

  /// The configuration that all devices measure before they are trusted alike: the first that passed.
  struct Calibration {
    std::optional<std::uint64_t> index;  ///< in the space
    bool asked = false;                  ///< it is being compiled, or was
    int failures = 0;                    ///< on the first device
    TrialPtr trial;                      ///< compiled
    std::optional<Summary> time_ms;      ///< on the first device
  } calibration_;

  struct Pruned {
    std::uint64_t index;                ///< in the space
    std::optional<std::size_t> record;  ///< index into result_.records; unset: it is the row
    Row row;
  };
  std::vector<Pruned> pruned_;
  std::vector<Pruned> lost_;  ///< of those: what today's best beats, too
  struct Elsewhere {
    TrialPtr trial;
    std::string claim;
  };
  std::optional<LeavablePeers> peers_;
  std::vector<Elsewhere> elsewhere_;  ///< other processes are at it
  struct FinalsElsewhere {
    std::vector<TrialPtr> finalists;
    std::vector<std::string> keys;
    std::string claim;
  };
  std::optional<FinalsElsewhere> finals_elsewhere_;  ///< another process holds them
  std::optional<BlockWalk> blocks_;                  ///< the way of a search that does not learn, where there are peers
  bool untold_ = false;  ///< a record could not be stored: the others will not come to know it
  std::uint64_t not_stored_ = 0;
  std::uint64_t left_out_ = 0;  ///< failures that the machine may have caused
  std::string store_failure_;   ///< told last
  bool news_here_ = false;      ///< records were stored since the others were told
  EventLoop::Watch next_look_, next_turn_;
  std::vector<TrialPtr> finalists_;  ///< compiled
  std::unique_ptr<Finals> finals_;
  bool finals_begun_ = false;
  int finals_held_ = 0;
  std::set<std::string> met_;  ///< keys of those that passed the last finals of this run
  TuneResult result_;
};

}  // namespace xtune

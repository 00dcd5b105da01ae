// One run of the tuner: its parts, and the loop that drives them. Internal to the tuner.
#pragma once

#include <optional>
#include <vector>

#include "core/run/bench_queue.hpp"
#include "core/run/compile_queue.hpp"
#include "core/run/finals_phase.hpp"
#include "core/run/peer_work.hpp"
#include "core/run/problem_setup.hpp"
#include "core/run/result_ledger.hpp"
#include "core/run/search_path.hpp"
#include "core/run/stop_conditions.hpp"

namespace xtune::run {

/// The path of a configuration through the parts:
///
///   path_ proposes -> store_ answers -> ledger_ books it
///                    -> compiles_ -> benches_ -> ledger_, which informs path_
///
/// Every part owns its state and reports back through functions that it receives here. The search is over when the
/// strategy proposes nothing more, or its share of the time is spent. Then the doubtful losers of the race are measured
/// in full, one after the other, and finally finals_ are held.
class Tuning {
 public:
  Tuning(const spec::Spec& spec, const Bindings& problem, const target::Target& target, const TuneOptions& options,
         const TuneServices& services, TuneObserver& observer);
  /// Call it once.
  TuneResult go();

 private:
  void stop_where_asked();
  bool exhausted() const;
  bool search_is_over();
  bool go_on_after_search();
  std::size_t in_flight() const;
  bool waits_for_peers() const;
  bool room() const;
  void pump();

  std::optional<SearchPath::Proposal> next_proposal();
  bool serve(const SearchPath::Proposal& proposal);
  void consider(const SearchPath::Proposal& proposal);
  bool claim(const TrialPtr& trial, const std::string& name);
  void begin(const TrialPtr& trial);
  void compile(const TrialPtr& trial);
  void take_compiled(const TrialPtr& trial, const ipc::CompileAnswer& answer);

  void look_at_peers();
  void leave_peers();
  Progress progress();
  void report() { run_.observer.on_progress(progress()); }
  TuneResult result(bool done);

  StopConditions stops_;
  base::EventLoop& loop_;
  const RunContext run_;
  WorkerTotals totals_;
  RecordKeeper keeper_;
  StoreAnswers store_;
  SearchPath path_;
  DevicePool devices_;
  Calibration calibration_;
  ResultLedger ledger_;
  CompileQueue compiles_;
  BenchQueue benches_;
  ProblemSetup problem_;
  std::optional<PeerWork> peers_;
  FinalsPhase finals_;
};

}  // namespace xtune::run

// The parts of a run. Each has a reference to all of them, and passes its results to the next one.
#pragma once

#include <functional>
#include <optional>

#include "core/run/bench_queue.hpp"
#include "core/run/compile_queue.hpp"
#include "core/run/device_pool.hpp"
#include "core/run/finals.hpp"
#include "core/run/peer_work.hpp"
#include "core/run/problem_setup.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_context.hpp"
#include "core/run/run_results.hpp"
#include "core/run/search_path.hpp"
#include "core/run/stored_results.hpp"

namespace xtune::run {

struct RunParts : RunContext {
  /// poll: as in Space. The references must outlive it.
  RunParts(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
           const TuneServices& services, TuneObserver& observer, const std::function<void()>& poll);
  virtual ~RunParts() = default;

  /// A trial has its artifact, or did not compile.
  virtual void take_compiled(const TrialPtr& trial, const CompileAnswer& answer) = 0;
  /// A trial of another process is this one's after all.
  virtual void take_over(const TrialPtr& trial) = 0;
  /// There is another result: reports the progress.
  virtual void report() = 0;

  system::EventLoop& loop;
  CompileService& compiler;
  WorkerTotals totals;
  RecordKeeper keeper;
  StoredResults stored;
  SearchPath path;
  DevicePool devices;
  Calibration calibration;
  OutcomeHandler outcomes;
  ProblemSetup setup;
  CompileQueue compiles;
  BenchQueue benches;
  FinalsPhase finals;
  std::optional<PeerWork> peers;
};

}  // namespace xtune::run

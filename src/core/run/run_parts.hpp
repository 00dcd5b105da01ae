// The parts of a run. Each has a reference to all of them, and passes its results to the next one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/run/device_pool.hpp"
#include "core/run/peer_work.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/remote_work.hpp"
#include "core/run/run_context.hpp"
#include "core/run/run_results.hpp"
#include "core/run/search_path.hpp"
#include "core/run/services.hpp"
#include "core/run/stored_results.hpp"
#include "core/search/compile_times.hpp"
#include "core/spec/process_spec.hpp"

namespace xtune::run {

/// Compiles the reference kernel and the check kernel, if there are any, and then gives the problem to all devices.
class ProblemSetup {
 public:
  explicit ProblemSetup(RunParts& run) : run_(run) {}

  /// Call it before each configuration is compiled, so that the device need not wait for its reference behind the whole
  /// queue; later calls do nothing. If a reference cannot be made, Error leaves the event loop: invalid_spec with the
  /// compiler's log; io if the compiler crashed or was killed.
  void prepare();
  bool done() const noexcept { return done_; }
  /// Call it after CompileService::cancel_all: unfinished steps start again with the next prepare.
  void restart();

 private:
  using CheckKernel = std::pair<std::optional<build::Artifact>, std::optional<CompileJob>>;
  using Reference = std::pair<ReferencePlan, std::optional<CompileJob>>;
  void compile_check_kernel(std::function<void(CheckKernel)> done);
  void make_reference(std::function<void(Reference)> done);
  void open(Reference reference, CheckKernel check_kernel);

  RunParts& run_;
  bool begun_ = false, done_ = false;
};

/// Configurations that differ only in launch parameters share an artifact, which is compiled once for all that wait for
/// it. If the order of the jobs changes only the time at which the compilers end, jobs that are expected to take
/// longest start first (CompileTimes).
class CompileQueue {
 public:
  explicit CompileQueue(RunParts& run);

  /// The first one starts the problem's own compile jobs, too.
  void start(const TrialPtr& trial);
  std::size_t trials() const noexcept { return trials_; }  ///< in progress; several may wait for one artifact
  /// Whether jobs are ordered: every configuration is compiled in the end, and none is waited for.
  bool longest_first() const noexcept { return longest_first_; }
  /// Cancels all jobs of the compilers, including those of other callers.
  void cancel_all();

 private:
  void finish(const std::string& key, const CompileAnswer& answer);
  RunParts& run_;
  const bool longest_first_;
  std::unordered_map<std::string, std::vector<TrialPtr>> waiting_;  ///< by the artifact's key
  std::size_t trials_ = 0;
  search::CompileTimes times_;
  std::optional<std::int64_t> first_start_ns_;
  bool warned_of_cache_ = false;
};

/// What the user should know where the wall clock of a program that ran on the CPU is about 1000 times its time, or
/// less than its time, and the spec gives no unit; else empty.
std::string time_unit_warning(const spec::ProcessSpec& process, const BenchAnswer& answer);

/// Compiled trials wait here for a device. The first device measures from the start; another one only if more trials
/// wait than the first device takes, and after it was compared (Calibration). From time to time the incumbent is
/// measured again on the first device, since its time is relative to that device (IncumbentTracker).
///
/// On a CPU, compilers and the device take turns: a batch is compiled, then no compiler runs until all of it is
/// measured.
class BenchQueue {
 public:
  explicit BenchQueue(RunParts& run) : run_(run) {}

  void add(const TrialPtr& trial) { ready_.push_back(trial); }
  /// Receives a trial that this queue asked to be compiled.
  void add_compiled(const TrialPtr& trial, bool ok);
  std::size_t waiting() const noexcept { return ready_.size(); }
  bool idle() const;

  /// Whether compilers may work now.
  bool may_compile() const;
  /// The compilers are idle: if they take turns with the device, it is the device's turn.
  void begin_turn();
  /// Measures the incumbent again if it is time for that; last: the search is over. Returns whether it does.
  bool follow_drift(bool last = false);
  /// Gives waiting trials to free devices.
  void give_work();
  void end_turn();
  /// The search is cut: waiting trials are dropped, and neither devices nor the incumbent are measured for comparison.
  void cut();

 private:
  void start_idle();
  void start(PooledDevice& device);
  bool seek_calibration();
  void calibrate(PooledDevice& device, const TrialPtr& trial);
  void measure_incumbent(const TrialPtr& trial);
  void take_drift(const Trial& trial, const RoundsAnswer& answer);
  void take(const TrialPtr& trial, PooledDevice& device, const BenchAnswer& answer);
  /// The first time.
  void warn_of_few_samples(const Bindings& config, const BenchAnswer& answer);

  RunParts& run_;
  std::deque<TrialPtr> ready_;
  bool devices_turn_ = false;  ///< alternating: until ready_ is empty
  bool compared_time_unit_ = false;
  bool warned_of_change_ = false;
  bool warned_of_few_samples_ = false;
  bool cut_ = false;
};

class FinalsRounds;

/// The end of a run: the best configurations meet in finals, unless such finals are stored or another process holds
/// them. Finalists are compiled (from the cache), come back through add, and are measured in rounds on the first device
/// (FinalsRounds). One process of a job holds the finals for all. Further finals may follow: of the others, if a
/// finalist turns out to be wrong, and with more finalists, if one that was only lucky kept them out.
class FinalsPhase {
 public:
  explicit FinalsPhase(RunParts& run);
  ~FinalsPhase();

  /// Whether finals were started, or will not be held.
  bool begun() const noexcept { return begun_; }
  /// Chooses the finalists. Returns whether there is something to wait for.
  bool start();
  /// Receives a finalist that was compiled, or did not compile.
  void add(const TrialPtr& trial) { finalists_.push_back(trial); }
  std::size_t compiled() const noexcept { return finalists_.size(); }
  /// Starts the rounds, after all finalists were compiled.
  void hold();
  /// Receives finalists that met on a device of another machine, with their records.
  void take(const std::vector<TrialPtr>& finalists);

  bool held_elsewhere() const noexcept { return elsewhere_.has_value(); }
  /// Checks whether another process has completed its finals; if it has ended without, this process holds them.
  void look_at_peers();

 private:
  struct SharedFinals {
    std::vector<TrialPtr> finalists;
    std::vector<std::string> keys;
    std::string claim;
  };
  std::vector<const store::Record*> finalists_now();
  const store::Record* answer_before(std::vector<const store::Record*> contenders) const;
  double time_of(const store::Record& record) const;
  double luck(const store::Standings& standings) const;
  double winners_search_ms(const store::Standings& standings) const;
  std::vector<const store::Record*> with_kept_out(const store::Standings& standings) const;
  void race_again();
  void ended();
  void prepare(const std::vector<const store::Record*>& finalists, std::vector<std::string> keys);
  const store::Record* default_beside(const std::vector<const store::Record*>& order,
                                      const std::vector<const store::Record*>& finalists) const;
  bool have_met(const std::vector<std::string>& keys) const;
  bool take_stored(const std::vector<std::string>& keys, store::Tainted tainted, std::int64_t since_unix_ms = 0);
  void finish();
  void record(const std::vector<std::pair<TrialPtr, std::string>>& finalists, const std::vector<std::string>& taints);
  void take(Trial& trial, const std::string& log, std::int64_t now_ms);

  RunParts& run_;
  RunResults& results_;
  std::vector<TrialPtr> finalists_;  ///< compiled
  std::unique_ptr<FinalsRounds> rounds_;
  bool begun_ = false;
  int held_ = 0;                           ///< number of finals in this run
  int ended_ = 0;                          ///< the same, with those from the store
  std::set<std::string> passed_;           ///< keys of the configurations that passed the last finals of this run
  std::set<std::string> met_;              ///< the same, if those finals can be followed by others with more finalists
  bool refuted_ = false;                   ///< a finalist turned out to be wrong
  std::optional<SharedFinals> elsewhere_;  ///< another process holds them
};

struct RunParts : RunContext {
  using RunContext::RunContext;
  virtual ~RunParts() = default;

  /// A trial has its artifact, or did not compile.
  virtual void take_compiled(const TrialPtr& trial, const CompileAnswer& answer) = 0;
  /// A trial of another process is this one's after all.
  virtual void take_over(const TrialPtr& trial) = 0;
  /// There is another result: reports the progress.
  virtual void report() = 0;

  system::EventLoop& loop = services.loop;
  CompileService& compiler = services.compiler;
  WorkerTotals totals;
  RecordKeeper keeper{*this};
  StoredResults stored{*this, keeper};
  SearchPath path{make_search(*this, stored.records()), proposal_window(*this, compiler.parallel())};
  DevicePool devices{target, services.benches, compiler, spec.kernel.compile_timeout_s, observer};
  Calibration calibration{devices};
  OutcomeHandler outcomes{*this};
  ProblemSetup setup{*this};
  CompileQueue compiles{*this};
  BenchQueue benches{*this};
  FinalsPhase finals{*this};
  std::optional<PeerWork> peers;
  std::optional<RemoteWork> remote;
};

}  // namespace xtune::run

// The tuner's loop: propose, look into the store, compile, bench, record, observe.
#include "core/run/tuner.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/run/advisor.hpp"
#include "core/run/bench_queue.hpp"
#include "core/run/compile_queue.hpp"
#include "core/run/device_pool.hpp"
#include "core/run/finals.hpp"
#include "core/run/peer_work.hpp"
#include "core/run/problem_setup.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_results.hpp"
#include "core/run/search_path.hpp"
#include "core/run/stored_results.hpp"
#include "system/deadline.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

/// If every configuration is compiled in the end, and none is waited for, the longest may go first.
bool may_order_compiles(const RunContext& run, const SearchPath& path) {
  return !path.learns() && !run.spec.search.seconds && !run.options.peers;
}

/// entries: of the trial's request, which its compile job took.
std::vector<store::StepUsage> step_usages(const device::LaunchPlan& launch, const std::vector<std::string>& entries,
                                          const build::Artifact& artifact) {
  std::vector<store::StepUsage> usages;
  for (const device::Step& step : launch.steps)
    usages.push_back({entries.at(step.kernel), build::entry_of(artifact, step.kernel).usage, step.launch.shared_bytes});
  return usages;
}

/// Fills the trial's record from the compiler's answer. has_steps: of the spec.
void fill_compiled(Trial& trial, const CompileAnswer& answer, const resolve::CandidateResolver& resolver,
                   bool has_steps) {
  store::Record& record = trial.record;
  record.compile_s = answer.cached ? 0 : answer.artifact.compile_s;
  record.compile_cpu_s = answer.cpu_s;
  record.usage = answer.artifact.usage;
  trial.lack = answer.lack;
  record.outcome = answer.outcome;
  record.stage = "compile";
  record.message = answer.message;
  if (answer.outcome != Outcome::ok) return;
  if (has_steps) {
    const auto entries = build::entries_of(resolver.compile_request(trial.config));
    record.steps = step_usages(trial.launch, entries, answer.artifact);
  }
  if (const auto violation = resolver.limit_violation(trial.launch, &answer.artifact)) {
    record.outcome = Outcome::rejected;
    record.message = *violation;
  }
}

/// Time counts from its construction.
class StopConditions {
 public:
  /// Share of the run's time for the search: the rest is for the finals.
  static constexpr double share_of_search = 0.9;

  /// seconds: of the whole run; unset: no limit. drain may be null. The references must outlive this.
  StopConditions(system::Clock& clock, std::optional<double> seconds, const std::atomic<bool>& stop,
                 const std::atomic<bool>* drain)
      : clock_(clock), start_ns_(clock.now_ns()), seconds_(seconds), stop_(stop), drain_(drain) {}

  double elapsed_s() const { return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9; }
  bool time_is_up(double share = 1) const { return seconds_ && elapsed_s() >= share * *seconds_; }
  bool asked() const { return stop_.load(); }
  bool stopping() const { return stop_.load(std::memory_order_relaxed) || time_is_up(); }
  bool draining() const { return drain_ && drain_->load(std::memory_order_relaxed); }
  /// Whether the search's share of the time is spent and its open work was given up (cut_search).
  bool search_cut() const noexcept { return search_cut_; }
  /// Returns true once, when the search must be cut.
  bool cut_search() { return !search_cut_ && (search_cut_ = time_is_up(share_of_search)); }

 private:
  system::Clock& clock_;
  const std::int64_t start_ns_;
  const std::optional<double> seconds_;
  const std::atomic<bool>& stop_;
  const std::atomic<bool>* const drain_;
  bool search_cut_ = false;
};

/// The path of a configuration through the parts:
///
///   path_ proposes -> outcomes_ handles the answer of stored_
///                    -> compiles_ -> take_compiled -> benches_ -> outcomes_, which informs path_
///
/// Every part owns its state, and passes on its results to the next part, which it refers to. The search is over when
/// the strategy proposes nothing more, or its share of the time is spent. Then the doubtful losers of the race are
/// measured in full, one after the other, and finally finals_ are held.
class Tuning {
 public:
  Tuning(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
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
  void consider(const SearchPath::Proposal& proposal);
  bool claim(const TrialPtr& trial, const std::string& name);
  void begin(const TrialPtr& trial);
  void take_compiled(const TrialPtr& trial, const CompileAnswer& answer);

  void look_at_peers();
  void leave_peers();
  Progress progress();
  void report() { run_.observer.on_progress(progress()); }
  TuneResult result(bool done);

  StopConditions stops_;
  system::EventLoop& loop_;
  const RunContext run_;
  WorkerTotals totals_;
  RecordKeeper keeper_;
  StoredResults stored_;
  SearchPath path_;
  DevicePool devices_;
  Calibration calibration_;
  OutcomeHandler outcomes_;
  ProblemSetup problem_;
  CompileQueue compiles_;
  BenchQueue benches_;
  FinalsPhase finals_;
  std::optional<PeerWork> peers_;
};

Tuning::Tuning(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
               const TuneServices& services, TuneObserver& observer)
    : stops_(services.clock, spec.search.seconds, services.stop, options.drain),
      loop_(services.loop),
      run_(spec, problem, target, options, services.compiler.parallel(), services.benches.size(), services.clock,
           observer, [this] { stop_where_asked(); }),
      keeper_(run_),
      stored_(run_, keeper_),
      path_(make_search(run_, stored_.records()), proposal_window(run_, services.compiler.parallel())),
      devices_(target, services.benches, services.compiler, spec.kernel.compile_timeout_s, observer),
      calibration_(devices_),
      outcomes_(run_, keeper_, stored_, path_, devices_, calibration_, [this] { report(); }),
      problem_(run_, services.compiler, devices_, keeper_, totals_),
      compiles_(run_, services.compiler, problem_, totals_, may_order_compiles(run_, path_),
                [this](const TrialPtr& trial, const CompileAnswer& answer) { take_compiled(trial, answer); }),
      benches_(run_, devices_, calibration_, outcomes_, compiles_, keeper_, totals_),
      finals_(run_, outcomes_, stored_, keeper_, devices_, compiles_, totals_) {
  const RunResults& results = outcomes_.results();
  path_.set_advisor(make_advisor(run_, loop_, path_.learns(),
                                 {[&results] { return results.evaluated(); },
                                  [&results]() -> const std::vector<store::Record>& { return results.records(); }}));
  if (!options.peers) return;
  peers_.emplace(run_, *options.peers, loop_, outcomes_, totals_, [this](const TrialPtr& trial) {
    trial->purpose == Trial::Purpose::settle ? compiles_.start(trial) : begin(trial);
  });
  finals_.share_with(peers_->peers());
}

/// Checks for a stop while a large space is built, which may take long.
void Tuning::stop_where_asked() {
  loop_.run_ready();
  if (stops_.asked())
    throw Error(ErrorKind::interrupted, "stopped while the space was built; nothing was measured yet");
}

TuneResult Tuning::go() {
  std::vector<system::Deadline> alarms;
  if (const auto& seconds = run_.spec.search.seconds)
    for (const double share : {StopConditions::share_of_search, 1.0})
      alarms.emplace_back(loop_, std::max(0.0, share * *seconds) + 1e-3, 0, [](system::Expiry) {});
  // Callbacks refer to this object: none may come after it is destroyed, however that happens.
  struct Abandon {
    Tuning& run;
    ~Abandon() {
      run.compiles_.cancel_all();
      run.devices_.cancel_all();
    }
  } abandon{*this};
  bool done = false;
  run_.observer.on_begin([this] { return progress(); });
  if (peers_) {
    if (const search::Sequence* const sequence = path_.sequence()) {
      peers_->share_in_blocks(*sequence);
      path_.ignore_outcomes();
    }
    look_at_peers();
    peers_->every_look([this] { look_at_peers(); });
  }
  while (!stops_.stopping()) {
    if (stops_.draining()) {
      if (devices_.busy() == 0 || !loop_.run_once()) break;
      continue;
    }
    pump();
    leave_peers();
    done = in_flight() == 0 && !waits_for_peers() && search_is_over() && !go_on_after_search();
    if (done) break;
    if (in_flight() == 0 && !waits_for_peers()) continue;
    const std::uint64_t before = totals_.answers;
    if (!loop_.run_once() && totals_.answers == before)
      throw Error(ErrorKind::io, "the workers ended without an answer");
  }
  return result(done);
}

/// The result of a search that was completed, or not: stopped, drained or out of time.
TuneResult Tuning::result(bool done) {
  TuneResult& result = outcomes_.results().result();
  result.interrupted = stops_.asked() || (stops_.draining() && !done);
  result.out_of_time = !result.interrupted && !(done && exhausted());
  keeper_.finish();
  stored_.finish();
  outcomes_.results().read_reported();
  result.advisor = path_.advice();
  result.compile_cpu_s = totals_.compile_cpu_s;
  result.compile_wall_s = totals_.compile_wall_s;
  result.device_busy_s = totals_.device_busy_s;
  result.total_s = stops_.elapsed_s();
  report();
  result.scale_times(run_.criterion);
  return std::move(result);
}

bool Tuning::exhausted() const { return peers_ && peers_->in_blocks() ? peers_->blocks_over() : path_.exhausted(); }

/// Cuts the search if its time is up; measurements in progress end by themselves.
bool Tuning::search_is_over() {
  if (run_.holds_finals() && stops_.cut_search()) {
    compiles_.cancel_all();
    devices_.compile_after_all();
    benches_.cut();
    if (peers_) peers_->forget();
    problem_.restart();  // its kernels were being compiled too
  }
  return stops_.search_cut() || exhausted();
}

bool Tuning::go_on_after_search() {
  if (finals_.begun()) return false;
  if (benches_.follow_drift(true)) return true;
  const TrialPtr doubtful = outcomes_.take_doubtful();
  if (!doubtful) return finals_.start();
  if (claim(doubtful, "in full " + doubtful->record.key)) compiles_.start(doubtful);
  return true;
}

std::size_t Tuning::in_flight() const {
  return compiles_.trials() + benches_.waiting() + finals_.compiled() + devices_.busy();
}

bool Tuning::waits_for_peers() const {
  if (finals_.held_elsewhere()) return true;
  return peers_ && (peers_->waiting() || (peers_->in_blocks() && !stops_.search_cut() && !peers_->blocks_over()));
}

/// Compilers need not wait for a slow device unless the search does; the more jobs wait, the better their order.
bool Tuning::room() const {
  if (run_.alternates || path_.learns()) return in_flight() < run_.max_in_flight;
  return compiles_.trials() < (compiles_.longest_first() ? 2 : 1) * run_.max_in_flight;
}

/// Starts everything that can start now.
void Tuning::pump() {
  while (!search_is_over() && benches_.may_compile() && room() && !stops_.stopping()) {
    const auto proposal = next_proposal();
    if (!proposal) break;
    consider(*proposal);
  }
  if (compiles_.trials() == 0) benches_.begin_turn();
  if (problem_.done() && (!run_.alternates || compiles_.trials() == 0)) {
    benches_.give_work();
    if (benches_.idle() && compiles_.trials() == 0 && finals_.compiled() > 0) finals_.hold();
  }
  benches_.end_turn();
}

std::optional<SearchPath::Proposal> Tuning::next_proposal() {
  return peers_ && peers_->in_blocks() ? peers_->next() : path_.next();
}

void Tuning::consider(const SearchPath::Proposal& proposal) {
  if (outcomes_.serve(proposal)) return;
  const TrialPtr trial = run_.make_trial(proposal.index);
  trial->proposal = proposal;
  if (proposal.advised) trial->record.proposed_by = "advisor";
  if ((peers_ && peers_->in_blocks()) || claim(trial, trial->record.key)) begin(trial);
}

/// Whether this process must do it.
bool Tuning::claim(const TrialPtr& trial, const std::string& name) { return !peers_ || peers_->claim(trial, name); }

void Tuning::begin(const TrialPtr& trial) {
  try {
    trial->launch = run_.resolver.launch(trial->config);
    if (const auto violation = run_.resolver.limit_violation(trial->launch, nullptr))
      throw build::CandidateFailure(Outcome::rejected, *violation);
  } catch (const build::CandidateFailure& failure) {
    trial->record.outcome = failure.outcome();
    trial->record.stage = "space";
    trial->record.message = failure.what();
    outcomes_.finish(*trial, "");
    return;
  }
  const auto failed = stored_.failed_compile(run_.resolver.artifact_keys(trial->request));
  if (!failed) return compiles_.start(trial);
  CompileAnswer answer;
  answer.outcome = failed->outcome, answer.message = failed->message, answer.cached = true;
  run_.set_keys(trial->record, trial->config, failed->artifact_key);
  take_compiled(trial, answer);
}

void Tuning::take_compiled(const TrialPtr& trial, const CompileAnswer& answer) {
  if (trial->purpose == Trial::Purpose::drift || trial->purpose == Trial::Purpose::calibrate)
    return benches_.add_compiled(trial, answer.outcome == Outcome::ok);
  fill_compiled(*trial, answer, run_.resolver, !run_.spec.steps.empty());
  if (trial->purpose == Trial::Purpose::finalist)
    finals_.add(trial);
  else if (trial->record.outcome == Outcome::ok)
    benches_.add(trial);
  else
    outcomes_.finish(*trial, answer.log);
}

void Tuning::look_at_peers() {
  keeper_.sync_for_peers();
  std::vector<store::Record> news = peers_->news();
  for (const store::Record& record : news) keeper_.learn(store::KeyDigest(record.key), record.unix_time_ms);
  if (peers_->in_blocks()) outcomes_.race_best_of(news);
  for (store::Record& record : news) stored_.add(std::move(record));
  if (peers_->in_blocks() && !stops_.search_cut()) peers_->look_at_blocks();
  peers_->look_at_trials();
  finals_.look_at_peers();
}

/// Other processes wait for results that this process measured and could not store, until it gives them up; it must not
/// wait for them in turn. Work of others without a known result is then done here, as if this were the only process.
void Tuning::leave_peers() {
  if (!keeper_.peers_lack_some() || !waits_for_peers() || in_flight() > 0) return;
  if (peers_->leave()) look_at_peers();
}

Progress Tuning::progress() {
  RunResults& results = outcomes_.results();
  Progress progress;
  progress.done = results.evaluated();
  progress.total = run_.planned();
  progress.from_store = results.result().from_store;
  progress.compiling = compiles_.trials();
  progress.waiting = benches_.waiting();
  progress.elapsed_s = stops_.elapsed_s();
  progress.finals = finals_.begun();
  progress.best = results.shown_best();
  if (const auto& config = results.result().default_config) progress.default_config = &*config;
  return progress;
}

}  // namespace

TuneResult tune(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
                const TuneServices& services, TuneObserver& observer) {
  return Tuning(spec, problem, target, options, services, observer).go();
}

std::uint64_t TuneResult::evaluated() const {
  std::uint64_t count = records.size();
  for (const auto& [outcome, more] : unread) count += more;
  return count;
}

std::vector<const store::Record*> TuneResult::all() const {
  std::vector<const store::Record*> pointers;
  for (const std::vector<store::Record>* list : {&records, &further})
    for (const store::Record& record : *list) pointers.push_back(&record);
  return pointers;
}

void TuneResult::scale_times(const store::Criterion& criterion) {
  std::vector<store::Record*> pointers;
  for (std::vector<store::Record>* list : {&records, &further})
    for (store::Record& record : *list) pointers.push_back(&record);
  const store::Standings standings(all(), criterion);
  slowdown = standings.slowdown();
  store::put_on_one_scale(pointers, standings);
}

}  // namespace xtune::run

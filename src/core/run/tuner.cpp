// The tuner's loop: propose, look into the store, compile, bench, record, observe.
#include "core/run/tuner.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/build/compile_hint.hpp"
#include "core/run/advisor.hpp"
#include "core/run/common_failure.hpp"
#include "core/run/run_parts.hpp"
#include "core/search/samples.hpp"
#include "system/deadline.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

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

/// Time counts from the beginning of the run.
class StopConditions {
 public:
  /// Share of the run's time for the search: the rest is for the finals.
  static constexpr double share_of_search = 0.9;

  /// start_ns: of the run's clock. The references must outlive this.
  StopConditions(const RunContext& run, std::int64_t start_ns) : run_(run), start_ns_(start_ns) {}

  double elapsed_s() const { return static_cast<double>(run_.services.clock.now_ns() - start_ns_) * 1e-9; }
  bool time_is_up(double share = 1) const {
    return run_.spec.search.seconds && elapsed_s() >= share * *run_.spec.search.seconds;
  }
  bool asked() const { return run_.services.stop.load(); }
  bool stopping() const { return run_.services.stop.load(std::memory_order_relaxed) || time_is_up(); }
  bool draining() const { return run_.options.drain && run_.options.drain->load(std::memory_order_relaxed); }
  /// Whether the search's share of the time is spent and its open work was given up (cut_search).
  bool search_cut() const noexcept { return search_cut_; }
  /// Returns true once, when the search must be cut.
  bool cut_search() { return !search_cut_ && (search_cut_ = time_is_up(share_of_search)); }

 private:
  const RunContext& run_;
  const std::int64_t start_ns_;
  bool search_cut_ = false;
};

/// The path of a configuration through the parts:
///
///   path proposes -> outcomes handles the answer of stored
///                   -> compiles -> take_compiled -> benches -> outcomes, which informs path
///
/// The search is over when the strategy proposes nothing more, or its share of the time is spent. Then the doubtful
/// losers of the race are measured in full, one after the other, and finally the finals are held.
class Tuning final : RunParts {
 public:
  Tuning(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
         const TuneServices& services, TuneObserver& observer, std::int64_t start_ns);
  /// Call it once.
  TuneResult go();

 private:
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
  void start(const TrialPtr& trial) { remote ? remote->add(trial) : compiles.start(trial); }
  void take_compiled(const TrialPtr& trial, const CompileAnswer& answer) override;
  void look_for_common_failure();
  void take_over(const TrialPtr& trial) override {
    trial->purpose == Trial::Purpose::settle ? compiles.start(trial) : begin(trial);
  }

  void look_at_peers();
  void leave_peers();
  Progress progress();
  void report() override { observer.on_progress(progress()); }
  TuneResult result(bool done);

  StopConditions stops_;
  CommonFailure common_;
  EqualImages images_;
  bool unread_ = false;           ///< the user knows of headers that were read as empty
  std::vector<TrialPtr> probes_;  ///< to be compiled, or compiled, unless they show that not all fail alike
  std::size_t probing_ = 0;       ///< number of probes that are being compiled
  bool asked_ = false;            ///< there were probes
  bool gave_up_ = false;          ///< all fail alike
};

/// Checks for a stop while a large space is built, which may take long.
void stop_where_asked(const TuneServices& services) {
  services.loop.run_ready();
  if (services.stop.load())
    throw Error(ErrorKind::interrupted, "stopped while the space was built; nothing was measured yet");
}

Tuning::Tuning(const spec::Spec& spec_, const Bindings& problem_, const run::Target& target_,
               const TuneOptions& options_, const TuneServices& services_, TuneObserver& observer_,
               std::int64_t start_ns)
    : RunParts(spec_, problem_, target_, options_, services_, observer_, [&services_] { stop_where_asked(services_); }),
      stops_(*this, start_ns) {
  const RunResults& results = outcomes.results();
  path.set_advisor(make_advisor(*this, loop, path.learns(),
                                {[&results] { return results.evaluated(); },
                                 [&results]() -> const std::vector<store::Record>& { return results.records(); }}));
  if (options.peers) peers.emplace(static_cast<RunParts&>(*this), *options.peers);
  if (services.remote) remote.emplace(static_cast<RunParts&>(*this), *services.remote);
}

TuneResult Tuning::go() {
  std::vector<system::Deadline> alarms;
  if (const auto& seconds = spec.search.seconds)
    for (const double share : {StopConditions::share_of_search, 1.0})
      alarms.emplace_back(loop, std::max(0.0, share * *seconds) + 1e-3, 0, [](system::Expiry) {});
  // Callbacks refer to this object: none may come after it is destroyed, however that happens.
  struct Abandon {
    Tuning& run;
    ~Abandon() {
      run.compiles.cancel_all();
      run.devices.cancel_all();
      if (run.remote) run.remote->cancel_all();
    }
  } abandon{*this};
  bool done = false;
  observer.on_begin([this] { return progress(); });
  if (peers) {
    if (const search::Sequence* const sequence = path.sequence()) {
      peers->share_in_blocks(*sequence);
      path.ignore_outcomes();
    }
    look_at_peers();
    peers->every_look([this] { look_at_peers(); });
  }
  while (!stops_.stopping() && !gave_up_) {
    if (stops_.draining()) {
      if (devices.busy() == 0 || !loop.run_once()) break;
      continue;
    }
    pump();
    leave_peers();
    done = in_flight() == 0 && !waits_for_peers() && search_is_over() && !go_on_after_search();
    if (done) break;
    if (in_flight() == 0 && !waits_for_peers()) continue;
    const std::uint64_t before = totals.answers;
    if (!loop.run_once() && totals.answers == before) throw Error(ErrorKind::io, "the workers ended without an answer");
  }
  return result(done || gave_up_);
}

/// The result of a search that was completed, or not: stopped, drained or out of time.
TuneResult Tuning::result(bool done) {
  TuneResult& result = outcomes.results().result();
  result.interrupted = stops_.asked() || (stops_.draining() && !done);
  result.out_of_time = !result.interrupted && !gave_up_ && !(done && exhausted());
  keeper.finish();
  stored.finish();
  outcomes.results().read_reported();
  for (const std::string& doubt : doubts(spec, result)) observer.on_warning(doubt);
  for (const std::string& sentence : images_.without_effect(space)) observer.on_warning(sentence);
  result.advisor = path.advice();
  result.compile_cpu_s = totals.compile_cpu_s;
  result.compile_wall_s = totals.compile_wall_s;
  result.device_busy_s = totals.device_busy_s;
  result.total_s = stops_.elapsed_s();
  report();
  result.scale_times(criterion);
  return std::move(result);
}

bool Tuning::exhausted() const { return peers && peers->in_blocks() ? peers->blocks_over() : path.exhausted(); }

/// Cuts the search if its time is up; measurements in progress end by themselves.
bool Tuning::search_is_over() {
  if (holds_finals() && stops_.cut_search()) {
    compiles.cancel_all();
    devices.compile_after_all();
    benches.cut();
    if (peers) peers->forget();
    if (remote) remote->cancel_all();
    setup.restart();  // its kernels were being compiled too
  }
  return stops_.search_cut() || exhausted();
}

bool Tuning::go_on_after_search() {
  if (finals.begun()) return false;
  if (benches.follow_drift(true)) return true;
  const TrialPtr doubtful = outcomes.take_doubtful();
  if (!doubtful) return finals.start();
  if (claim(doubtful, "in full " + doubtful->record.key)) start(doubtful);
  return true;
}

std::size_t Tuning::in_flight() const {
  return compiles.trials() + benches.waiting() + finals.compiled() + devices.busy() + (remote ? remote->trials() : 0);
}

bool Tuning::waits_for_peers() const {
  if (finals.held_elsewhere()) return true;
  return peers && (peers->waiting() || (peers->in_blocks() && !stops_.search_cut() && !peers->blocks_over()));
}

/// Compilers need not wait for a slow device unless the search does, or other processes could take the work; the more
/// jobs wait, the better their order.
bool Tuning::room() const {
  if (remote) return remote->room();
  if (probing_ > 0) return false;
  if (alternates || path.learns() || peers) return in_flight() < max_in_flight;
  return compiles.trials() < (compiles.longest_first() ? 2 : 1) * max_in_flight;
}

/// Starts everything that can start now.
void Tuning::pump() {
  while (!search_is_over() && benches.may_compile() && room() && !stops_.stopping()) {
    const auto proposal = next_proposal();
    if (!proposal) break;
    consider(*proposal);
  }
  if (remote) return remote->send();
  if (compiles.trials() == 0) benches.begin_turn();
  if (setup.done() && (!alternates || compiles.trials() == 0)) {
    benches.give_work();
    if (benches.idle() && compiles.trials() == 0 && finals.compiled() > 0) finals.hold();
  }
  benches.end_turn();
}

std::optional<SearchPath::Proposal> Tuning::next_proposal() {
  return peers && peers->in_blocks() ? peers->next() : path.next();
}

void Tuning::consider(const SearchPath::Proposal& proposal) {
  if (outcomes.serve(proposal)) return;
  const TrialPtr trial = make_trial(proposal.index);
  trial->proposal = proposal;
  if (proposal.advised) trial->record.proposed_by = "advisor";
  if ((peers && peers->in_blocks()) || claim(trial, trial->record.key)) begin(trial);
}

/// Whether this process must do it.
bool Tuning::claim(const TrialPtr& trial, const std::string& name) { return !peers || peers->claim(trial, name); }

void Tuning::begin(const TrialPtr& trial) {
  try {
    trial->launch = resolver.launch(trial->config);
    if (const auto violation = resolver.limit_violation(trial->launch, nullptr))
      throw build::CandidateFailure(Outcome::rejected, *violation);
  } catch (const build::CandidateFailure& failure) {
    trial->record.outcome = failure.outcome();
    trial->record.stage = "space";
    trial->record.message = failure.what();
    outcomes.finish(*trial, "");
    return;
  }
  const auto failed = stored.failed_compile(resolver.artifact_keys(trial->request));
  if (!failed) return start(trial);
  CompileAnswer answer;
  answer.outcome = failed->outcome, answer.message = failed->message, answer.cached = true;
  set_keys(trial->record, trial->config, failed->artifact_key);
  take_compiled(trial, answer);
}

void Tuning::take_compiled(const TrialPtr& trial, const CompileAnswer& answer) {
  if (trial->purpose == Trial::Purpose::drift || trial->purpose == Trial::Purpose::calibrate)
    return benches.add_compiled(trial, answer.outcome == Outcome::ok);
  fill_compiled(*trial, answer, resolver, !spec.steps.empty());
  if (const std::string unread = build::unread_warning(answer.artifact);
      !unread.empty() && !std::exchange(unread_, true))
    observer.on_warning(unread);
  const bool probe = trial->purpose == Trial::Purpose::probe;
  if (probe || trial->purpose == Trial::Purpose::search)
    common_.add(trial->proposal.index, trial->record.artifact_key, trial->request, answer);
  images_.add(trial->proposal.index, resolver, space, answer);
  if (probe)
    --probing_;
  else if (trial->purpose == Trial::Purpose::finalist)
    finals.add(trial);
  else if (trial->record.outcome == Outcome::ok)
    benches.add(trial);
  else
    outcomes.finish(*trial, answer.log);
  look_for_common_failure();
}

/// Asks configurations that show whether all fail alike, once some have. Their records count only if they do.
void Tuning::look_for_common_failure() {
  if (!common_.suspected() || options.keep_going || peers || remote || !options.only.empty() || probing_ > 0) return;
  RunResults& results = outcomes.results();
  for (const auto& [outcome, count] : results.result().counts)
    if (outcome != Outcome::compile_failed && outcome != Outcome::rejected) return common_.refute();
  if (!std::exchange(asked_, true)) {
    constexpr std::uint64_t max_candidates = 256;
    std::vector<std::uint64_t> candidates =
        search::spread_sample(space, max_candidates, [](std::uint64_t index) { return std::to_string(index); });
    candidates.insert(candidates.begin(), 0);
    candidates.push_back(space.size() - 1);
    const std::vector<std::uint64_t> asked = common_.to_ask(space, candidates);
    if (asked.size() + results.evaluated() >= planned()) return common_.refute();  // nothing to be gained
    for (const std::uint64_t index : asked) {
      probes_.push_back(make_trial(index));
      probes_.back()->purpose = Trial::Purpose::probe;
      compiles.start(probes_.back());
    }
    probing_ = probes_.size();
    if (probing_ > 0) return;
  }
  gave_up_ = true;
  for (const TrialPtr& probe : probes_) outcomes.finish(*probe, "");
  observer.on_warning(common_.text(space.size() - results.evaluated()));
}

void Tuning::look_at_peers() {
  keeper.sync_for_peers();
  std::vector<store::Record> news = peers->news();
  for (const store::Record& record : news) keeper.learn(store::KeyDigest(record.key), record.unix_time_ms);
  if (peers->in_blocks()) outcomes.race_best_of(news);
  for (store::Record& record : news) stored.add(std::move(record));
  if (peers->in_blocks() && !stops_.search_cut()) peers->look_at_blocks();
  peers->look_at_trials();
  finals.look_at_peers();
}

/// Other processes wait for results that this process measured and could not store, until it gives them up; it must not
/// wait for them in turn. Work of others without a known result is then done here, as if this were the only process.
void Tuning::leave_peers() {
  if (!keeper.peers_lack_some() || !waits_for_peers() || in_flight() > 0) return;
  if (peers->leave()) look_at_peers();
}

Progress Tuning::progress() {
  RunResults& results = outcomes.results();
  Progress progress;
  progress.done = results.evaluated();
  progress.total = planned();
  progress.from_store = results.result().from_store;
  progress.compiling = compiles.trials();
  progress.waiting = benches.waiting() + (remote ? remote->trials() : 0);
  progress.elapsed_s = stops_.elapsed_s();
  progress.finals = holds_finals() && finals.begun();
  progress.best = results.shown_best();
  if (const auto& config = results.result().default_config) progress.default_config = &*config;
  return progress;
}

}  // namespace

TuneResult tune(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
                const TuneServices& services, TuneObserver& observer) {
  const std::int64_t start_ns = services.clock.now_ns();  // before the space is built
  return Tuning(spec, problem, target, options, services, observer, start_ns).go();
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

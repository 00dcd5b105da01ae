// The tuner's loop: propose, look into the store, compile, bench, record, observe.
#include "core/run/tuner.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>

#include "core/candidates/resolve.hpp"
#include "core/record/record_log.hpp"
#include "core/run/knowledge.hpp"
#include "core/run/reference_plan.hpp"
#include "core/run/search_path.hpp"
#include "core/search/strategy.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr std::uint64_t default_evals = 400;

/// One configuration on its way from proposal to record.
struct Trial {
  SearchPath::Proposal proposal;
  Config config;
  Launch launch;
  CompileRequest request;
  Artifact artifact;
  Record record;
};
using TrialPtr = std::shared_ptr<Trial>;

class Run {
 public:
  Run(const Spec& spec, const Bindings& problem, const Target& target, const TuneOptions& options, EventLoop& loop,
      CompileService& compiler, BenchService& bench, Clock& clock, TuneObserver& observer,
      const std::atomic<bool>& stop)
      : spec_(spec),
        target_(target),
        options_(options),
        loop_(loop),
        compiler_(compiler),
        bench_(bench),
        clock_(clock),
        observer_(observer),
        stop_(stop),
        start_ns_(clock.now_ns()),
        space_(make_space(spec, problem, device_facts(target.device), [this] { stop_where_asked(); })),
        resolver_(spec, space_, problem, target.device, target.arch, target.backend.toolchain, options.sanitize),
        evals_(spec.search.evals.value_or(spec.search.strategy == "exhaustive" ? space_.size() : default_evals)),
        // On a CPU the kernel and the compilers would fight for the same cores, and every number would be wrong.
        alternate_(target.device.vendor == "cpu"),
        batch_(compiler.parallel() * (alternate_ ? 4 : 2) + 2),
        on_arch_(read_store()),
        path_(make_search(problem), alternate_ ? batch_ : batch_ + compiler.parallel()) {
    result_.problem = problem;
    result_.device = target.device;
    result_.space_size = space_.size();
    open_store();
  }

  TuneResult go();

 private:
  std::vector<Record> read_store();
  void open_store();
  bool time_is_up() const;
  std::unique_ptr<Strategy> make_search(const Bindings& problem) {
    Knowledge knowledge = candidates_of(spec_, space_, problem, target_);
    const SearchSpec& search = spec_.search;
    const bool learns = make_strategy(search.strategy, space_, search.seed, evals_)->learns();
    if (options_.transfer && learns) add_sources(knowledge, spec_, space_, problem, target_, on_arch_, options_.store);
    for (const std::string& note : knowledge.notes) observer_.on_note(note);
    return make_strategy(search.strategy, StrategyOptions{space_, search.seed, evals_, std::move(knowledge.first),
                                                          std::move(knowledge.sources)});
  }
  /// A large space takes long enough to build for a user to lose patience.
  void stop_where_asked() {
    loop_.run_ready();
    if (stop_.load())
      throw Error(ErrorKind::interrupted, "stopped while the space was built; nothing was measured yet");
  }
  bool stopping() const { return stop_.load(std::memory_order_relaxed) || time_is_up(); }
  std::uint64_t in_flight() const { return compiling_ + ready_.size() + (benching_ ? 1 : 0); }
  void pump();
  bool may_compile() const { return !alternate_ || (ready_.empty() && !benching_ && !batch_closed_); }
  /// Compilers need not wait for a slow device unless the search does.
  bool room() const { return (alternate_ || path_.learns() ? in_flight() : compiling_) < batch_; }
  bool may_bench() const { return problem_set_ && (!alternate_ || compiling_ == 0); }
  void consider(const SearchPath::Proposal& proposal);
  bool serve_from_store(Trial& trial);
  void start_compile(const TrialPtr& trial);
  void on_compiled(const std::string& key, const CompileAnswer& answer);
  void prepare_bench(const Config& config);
  void start_bench();
  void on_benched(const TrialPtr& trial, const BenchAnswer& answer);
  void finish(Trial& trial, const std::string& log);
  void take(const Trial& trial, Record record, const std::string& log, bool from_store);
  void report();
  double elapsed_s() const { return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9; }

  const Spec& spec_;
  const Target& target_;
  const TuneOptions& options_;
  EventLoop& loop_;
  CompileService& compiler_;
  BenchService& bench_;
  Clock& clock_;
  TuneObserver& observer_;
  const std::atomic<bool>& stop_;
  const std::int64_t start_ns_;
  const Space space_;
  const CandidateResolver resolver_;
  const std::uint64_t evals_;
  const bool alternate_;
  const std::size_t batch_;      ///< configurations in flight at most; see room()
  std::vector<Record> on_arch_;  ///< the store's, of this kernel and architecture; moved into stored_
  SearchPath path_;

  std::unordered_map<std::string, Record> stored_;  ///< newest record of each measurement key
  std::optional<RecordWriter> writer_;
  std::unordered_map<std::string, std::vector<TrialPtr>> waiting_for_artifact_;
  std::deque<TrialPtr> ready_;
  std::size_t compiling_ = 0;  ///< trials, not jobs: several may wait for one artifact
  bool batch_closed_ = false;  ///< alternating: compiling has ended, the device's turn lasts until ready_ is empty
  bool problem_set_ = false;   ///< the bench service knows inputs and reference
  bool benching_ = false;
  std::uint64_t answers_ = 0;  ///< of both services
  std::optional<std::int64_t> first_compile_ns_;
  std::optional<double> best_ms_;
  std::size_t best_ = 0;  ///< index into result_.records
  std::unique_ptr<ReferenceBuilder> reference_;
  TuneResult result_;
};

std::vector<Record> Run::read_store() {
  RecordSet set = read_records(options_.store, target_.device.arch, spec_.kernel.name);
  for (const std::string& warning : set.warnings) observer_.on_warning(warning);
  return std::move(set.records);
}

void Run::open_store() {
  for (Record& record : on_arch_) {
    auto& slot = stored_[record.key];
    if (slot.key.empty() || slot.unix_time_ms <= record.unix_time_ms) slot = std::move(record);
  }
  on_arch_.clear();
  writer_.emplace(options_.store, target_.device.arch, spec_.kernel.name, options_.attempt);
}

bool Run::time_is_up() const { return spec_.search.seconds && elapsed_s() >= *spec_.search.seconds; }

TuneResult Run::go() {
  EventLoop::Watch alarm;
  if (spec_.search.seconds)
    alarm = loop_.call_after(static_cast<std::uint64_t>(std::max(0.0, *spec_.search.seconds) * 1e3) + 1, [] {});
  // Callbacks point at this object: none may come once it is gone, whichever way it goes.
  struct Abandon {
    Run& run;
    ~Abandon() {
      run.compiler_.cancel_all();
      run.bench_.cancel_all();
    }
  } abandon{*this};
  while (!stopping()) {
    pump();
    if (path_.exhausted() && in_flight() == 0) break;
    if (in_flight() == 0) continue;
    const std::uint64_t before = answers_;
    if (!loop_.run_once() && answers_ == before) throw Error(ErrorKind::io, "the workers ended without an answer");
  }
  result_.interrupted = stop_.load();
  result_.out_of_time = !result_.interrupted && !(path_.exhausted() && in_flight() == 0);
  try {
    writer_->sync();
  } catch (const Error& error) {
    observer_.on_warning(error.what());
  }
  result_.total_s = elapsed_s();
  report();
  return std::move(result_);
}

/// Starts whatever may start now.
void Run::pump() {
  while (may_compile() && room() && !stopping()) {
    const auto proposal = path_.next();
    if (!proposal) break;
    consider(*proposal);
  }
  if (alternate_ && compiling_ == 0 && !ready_.empty()) batch_closed_ = true;
  if (!benching_ && !ready_.empty() && may_bench()) start_bench();
  if (!benching_ && ready_.empty()) batch_closed_ = false;
}

void Run::consider(const SearchPath::Proposal& proposal) {
  auto trial = std::make_shared<Trial>();
  trial->proposal = proposal;
  trial->config = space_.at(proposal.index);
  trial->request = resolver_.compile_request(trial->config);
  Record& record = trial->record;
  record.kernel = spec_.kernel.name;
  record.problem = result_.problem;
  record.config = resolver_.config_bindings(trial->config);
  record.device = target_.device;
  record.toolchain = target_.backend.toolchain;
  record.attempt = options_.attempt;
  record.artifact_key = resolver_.artifact_key(trial->request);
  record.key_parts = resolver_.measurement_key_parts(trial->config, record.artifact_key);
  record.key = key_of(record.key_parts);
  if (serve_from_store(*trial)) return;
  try {
    trial->launch = resolver_.launch(trial->config);
    if (const auto violation = resolver_.limit_violation(trial->launch, nullptr))
      throw CandidateFailure(Outcome::rejected, *violation);
  } catch (const CandidateFailure& failure) {
    record.outcome = failure.outcome();
    record.stage = "space";
    record.message = failure.what();
    finish(*trial, "");
    return;
  }
  start_compile(trial);
}

bool Run::serve_from_store(Trial& trial) {
  if (options_.fresh) return false;
  const auto found = stored_.find(trial.record.key);
  if (found == stored_.end()) return false;
  const Outcome outcome = found->second.outcome;
  if (options_.retry_failed && (outcome == Outcome::crashed || outcome == Outcome::timed_out)) return false;
  ++result_.from_store;
  take(trial, std::move(found->second), "", true);
  stored_.erase(found);
  return true;
}

void Run::start_compile(const TrialPtr& trial) {
  if (!first_compile_ns_) {
    first_compile_ns_ = clock_.now_ns();
    prepare_bench(trial->config);
  }
  ++compiling_;
  const std::string& key = trial->record.artifact_key;
  auto& waiting = waiting_for_artifact_[key];
  waiting.push_back(trial);
  // Configurations that differ in launch-only parameters share one artifact.
  if (waiting.size() > 1) return;
  compiler_.compile({target_.backend.name, options_.store, key, trial->request}, spec_.kernel.compile_timeout_s,
                    [this, key](const CompileAnswer& answer) { on_compiled(key, answer); });
}

void Run::on_compiled(const std::string& key, const CompileAnswer& answer) {
  ++answers_;
  const auto found = waiting_for_artifact_.find(key);
  const std::vector<TrialPtr> trials = std::move(found->second);
  waiting_for_artifact_.erase(found);
  compiling_ -= trials.size();
  result_.compile_cpu_s += answer.cpu_s;
  result_.compile_wall_s = static_cast<double>(clock_.now_ns() - *first_compile_ns_) * 1e-9;
  for (const TrialPtr& trial : trials) {
    Record& record = trial->record;
    record.compile_s = answer.cached ? 0 : answer.artifact.compile_s;
    record.compile_cpu_s = answer.cpu_s;
    record.usage = answer.artifact.usage;
    record.outcome = answer.outcome;
    record.stage = "compile";
    record.message = answer.message;
    if (answer.outcome == Outcome::ok) {
      if (const auto violation = resolver_.limit_violation(trial->launch, &answer.artifact.usage)) {
        record.outcome = Outcome::rejected;
        record.message = *violation;
      }
    }
    if (record.outcome == Outcome::ok) {
      trial->artifact = answer.artifact;
      ready_.push_back(trial);
    } else {
      finish(*trial, answer.log);
    }
  }
}

/// Once, before the first configuration compiles, so that the device need not wait for its reference behind the whole
/// queue.
void Run::prepare_bench(const Config& config) {
  reference_ = std::make_unique<ReferenceBuilder>(spec_, resolver_, target_, options_.store);
  const auto open = [this](ReferencePlan plan) {
    OpenJob job;
    job.backend = target_.backend.name;
    job.device = target_.device.index;
    job.cache = options_.store;
    job.scratch = options_.scratch;
    job.seed = spec_.search.seed;
    job.sanitize = options_.sanitize;
    std::vector<ArgumentLayout> layouts = resolver_.layouts();
    std::size_t next = 0;
    for (const ArgSpec& argument : spec_.args)
      job.arguments.push_back(argument.kind == ArgKind::scalar ? ArgumentPlan{} : ArgumentPlan{layouts.at(next++)});
    job.reference = std::move(plan);
    job.tolerances = resolver_.tolerances();
    job.measure = spec_.measure;
    bench_.set_problem(std::move(job));
    problem_set_ = true;
    ++answers_;
  };
  reference_->build(config, compiler_, open);
}

void Run::start_bench() {
  const TrialPtr trial = ready_.front();
  ready_.pop_front();
  benching_ = true;
  bench_.bench({trial->artifact, trial->launch, resolver_.scalars(trial->config)}, spec_.measure.timeout_s,
               [this, trial](const BenchAnswer& answer) { on_benched(trial, answer); });
}

void Run::on_benched(const TrialPtr& trial, const BenchAnswer& answer) {
  ++answers_;
  benching_ = false;
  result_.device_busy_s += answer.busy_s;
  Record& record = trial->record;
  record.outcome = answer.outcome;
  record.stage = answer.outcome == Outcome::ok ? "measure" : answer.stage;
  record.message = answer.message;
  record.samples_ms = answer.samples_ms;
  record.tainted = answer.taints;
  record.validation = answer.validation;
  record.bench_s = answer.busy_s;
  if (answer.outcome == Outcome::ok) record.time_ms = summarize(record.samples_ms);
  finish(*trial, answer.log);
}

/// Stamps and stores a fresh record. A store that cannot be written must not cost the user the run.
void Run::finish(Trial& trial, const std::string& log) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  trial.record.host = host;
  trial.record.unix_time_ms = clock_.unix_time_ms();
  try {
    writer_->append(trial.record);
  } catch (const Error& error) {
    observer_.on_warning(error.what());
  }
  take(trial, std::move(trial.record), log, false);
}

void Run::take(const Trial& trial, Record record, const std::string& log, bool from_store) {
  ++result_.counts[record.outcome];
  const double time_ms = record.outcome == Outcome::ok ? statistic(record.time_ms, spec_.measure.statistic) : 0;
  if (record.outcome == Outcome::ok && (!best_ms_ || time_ms < *best_ms_)) {
    best_ms_ = time_ms;
    best_ = result_.records.size();
  }
  path_.set_outcome(trial.proposal.number, {trial.proposal.index, record.outcome, time_ms});
  result_.records.push_back(std::move(record));
  observer_.on_record(result_.records.back(), log, from_store);
  report();
}

void Run::report() {
  Progress progress;
  progress.done = result_.records.size();
  progress.total = std::min<std::uint64_t>(evals_, space_.size());
  progress.from_store = result_.from_store;
  progress.compiling = compiling_;
  progress.waiting = ready_.size();
  progress.elapsed_s = elapsed_s();
  progress.best = best_ms_ ? &result_.records[best_] : nullptr;
  observer_.on_progress(progress);
}

}  // namespace

TuneResult tune(const Spec& spec, const Bindings& problem, const Target& target, const TuneOptions& options,
                EventLoop& loop, CompileService& compiler, BenchService& bench, Clock& clock, TuneObserver& observer,
                const std::atomic<bool>& stop) {
  return Run(spec, problem, target, options, loop, compiler, bench, clock, observer, stop).go();
}

}  // namespace xtune

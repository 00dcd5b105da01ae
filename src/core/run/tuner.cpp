// The tuner's loop: propose, look into the store, compile, bench, record, observe.
#include "core/run/tuner.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/run/knowledge.hpp"
#include "core/run/tuning.hpp"
#include "core/search/strategy.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr std::uint64_t default_evals = 400;
// Of [search] seconds: the rest is for the finals.
constexpr double share_of_search = 0.9;

/// Proposes what it was given, and learns nothing.
class Listed final : public Strategy {
 public:
  Listed(const Space& space, const std::vector<Bindings>& configs) {
    for (const Bindings& each : configs)
      if (const auto index = index_of(space, each)) indices_.push_back(*index);
  }
  std::vector<std::uint64_t> propose(std::size_t max) override {
    std::vector<std::uint64_t> next;
    while (next.size() < max && proposed_ < indices_.size()) next.push_back(indices_[proposed_++]);
    return next;
  }
  void observe(const Observation& /*observation*/) override {}
  bool learns() const noexcept override { return false; }

 private:
  std::vector<std::uint64_t> indices_;
  std::size_t proposed_ = 0;
};

}  // namespace

std::optional<std::uint64_t> index_of(const Space& space, const Bindings& config) {
  Config values;
  if (config.size() != space.parameters().size()) return std::nullopt;
  for (const Parameter& parameter : space.parameters()) {
    const auto found = config.find(parameter.name);
    if (found == config.end()) return std::nullopt;
    values.push_back(found->second);
  }
  return space.index_of(values);
}

Tuning::Tuning(const Spec& spec, const Bindings& problem, const Target& target, const TuneOptions& options,
               EventLoop& loop, CompileService& compiler, const std::vector<BenchService*>& benches, Clock& clock,
               TuneObserver& observer, const std::atomic<bool>& stop)
    : spec_(spec),
      target_(target),
      options_(options),
      loop_(loop),
      compiler_(compiler),
      clock_(clock),
      observer_(observer),
      stop_(stop),
      start_ns_(clock.now_ns()),
      space_(make_space(spec, problem, device_facts(target.device), [this] { stop_where_asked(); })),
      resolver_(spec, space_, problem, target.device, target.arch, target.backend.toolchain, options.sanitize),
      objective_(spec),
      criterion_(objective_.criterion(problem, target.device)),
      evals_(spec.search.evals.value_or(spec.search.strategy == "exhaustive" ? space_.size() : default_evals)),
      // On a CPU the kernel and the compilers would fight for the same cores, and every number would be wrong.
      alternate_(target.device.vendor == "cpu"),
      // Each device has one configuration at hand and one waiting.
      batch_(compiler.parallel() * (alternate_ ? 4 : 2) + 2 * std::max<std::size_t>(benches.size(), 1)),
      on_arch_(read_store()),
      path_(make_search(problem), alternate_ ? batch_ : batch_ + compiler.parallel()),
      stored_(std::move(on_arch_)) {
  lanes_.push_back({benches.at(0), target.device});
  for (std::size_t i = 1; i < benches.size() && i <= target.further.size(); ++i)
    lanes_.push_back({benches[i], target.further[i - 1]});
  result_.problem = problem;
  result_.device = target.device;
  result_.space_size = space_.size();
  writer_.emplace(options_.store, target_.device.arch, spec_.kernel.name, options_.attempt);
}

std::unique_ptr<Strategy> Tuning::make_search(const Bindings& problem) {
  if (!options_.only.empty()) return std::make_unique<Listed>(space_, options_.only);
  Knowledge knowledge = candidates_of(spec_, space_, problem, target_);
  const SearchSpec& search = spec_.search;
  const bool learns = make_strategy(search.strategy, space_, search.seed, evals_)->learns();
  if (options_.transfer && learns) add_sources(knowledge, spec_, space_, problem, target_, on_arch_, options_.store);
  for (const std::string& note : knowledge.notes) observer_.on_note(note);
  return make_strategy(search.strategy, StrategyOptions{space_, search.seed, evals_, std::move(knowledge.first),
                                                        std::move(knowledge.sources)});
}

/// A large space takes long enough to build for a user to lose patience.
void Tuning::stop_where_asked() {
  loop_.run_ready();
  if (stop_.load()) throw Error(ErrorKind::interrupted, "stopped while the space was built; nothing was measured yet");
}

std::vector<Record> Tuning::read_store() {
  RecordSet set = read_records(options_.store, target_.device.arch, spec_.kernel.name);
  for (const std::string& warning : set.warnings) observer_.on_warning(warning);
  return std::move(set.records);
}

TuneResult Tuning::go() {
  std::vector<EventLoop::Watch> alarms;
  if (spec_.search.seconds)
    for (const double share : {share_of_search, 1.0})
      alarms.push_back(
          loop_.call_after(static_cast<std::uint64_t>(std::max(0.0, share * *spec_.search.seconds) * 1e3) + 1, [] {}));
  // Callbacks point at this object: none may come once it is gone, whichever way it goes.
  struct Abandon {
    Tuning& run;
    ~Abandon() {
      run.compiler_.cancel_all();
      for (const Lane& lane : run.lanes_) lane.bench->cancel_all();
    }
  } abandon{*this};
  bool done = false;
  while (!stopping()) {
    pump();
    done = in_flight() == 0 && search_is_over() && !go_on_after_search();
    if (done) break;
    if (in_flight() == 0) continue;
    const std::uint64_t before = answers_;
    if (!loop_.run_once() && answers_ == before) throw Error(ErrorKind::io, "the workers ended without an answer");
  }
  result_.interrupted = stop_.load();
  result_.out_of_time = !result_.interrupted && !(done && path_.exhausted());
  try {
    writer_->sync();
  } catch (const Error& error) {
    observer_.on_warning(error.what());
  }
  result_.total_s = elapsed_s();
  report();
  return std::move(result_);
}

/// Cuts the search where its time is up; what the device is at ends by itself.
bool Tuning::search_is_over() {
  if (!search_cut_ && holds_finals() && time_is_up(share_of_search)) {
    search_cut_ = true;
    compiler_.cancel_all();
    waiting_for_artifact_.clear();
    ready_.clear();
    compiling_ = 0;
    if (!problem_set_) reference_.reset();  // its kernel was compiling too
  }
  return search_cut_ || path_.exhausted();
}

/// Starts whatever may start now.
void Tuning::pump() {
  while (!search_is_over() && may_compile() && room() && !stopping()) {
    const auto proposal = path_.next();
    if (!proposal) break;
    consider(*proposal);
  }
  if (alternate_ && compiling_ == 0 && !ready_.empty()) batch_closed_ = true;
  if (may_bench()) {
    give_work();
    if (benching() == 0 && ready_.empty() && compiling_ == 0 && !finalists_.empty()) hold_finals();
  }
  if (benching() == 0 && ready_.empty()) batch_closed_ = false;
}

TrialPtr Tuning::make_trial(std::uint64_t index) {
  auto trial = std::make_shared<Trial>();
  trial->proposal.index = index;
  trial->config = space_.at(index);
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
  return trial;
}

void Tuning::consider(const SearchPath::Proposal& proposal) {
  const TrialPtr trial = make_trial(proposal.index);
  trial->proposal = proposal;
  if (serve_from_store(*trial)) {
    if (races() && result_.records.back().outcome == Outcome::ok) {
      trial->record = result_.records.back();
      consider_incumbent(trial, true);
    }
    return;
  }
  try {
    trial->launch = resolver_.launch(trial->config);
    if (const auto violation = resolver_.limit_violation(trial->launch, nullptr))
      throw CandidateFailure(Outcome::rejected, *violation);
  } catch (const CandidateFailure& failure) {
    trial->record.outcome = failure.outcome();
    trial->record.stage = "space";
    trial->record.message = failure.what();
    finish(*trial, "");
    return;
  }
  start_compile(trial);
}

bool Tuning::serve_from_store(Trial& trial) {
  if (options_.fresh) return false;
  const Record* const found = stored_.find(trial.record.key);
  if (!found) return false;
  const Outcome outcome = found->outcome;
  if (options_.retry_failed && (outcome == Outcome::crashed || outcome == Outcome::timed_out)) return false;
  if (outcome == Outcome::pruned && !races()) return false;
  ++result_.from_store;
  take(trial, stored_.take(trial.record.key), "", true);
  return true;
}

void Tuning::start_compile(const TrialPtr& trial) {
  if (!first_compile_ns_) first_compile_ns_ = clock_.now_ns();
  if (!reference_) prepare_bench(trial->config);
  ++compiling_;
  const std::string& key = trial->record.artifact_key;
  auto& waiting = waiting_for_artifact_[key];
  waiting.push_back(trial);
  // Configurations that differ in launch-only parameters share one artifact.
  if (waiting.size() > 1) return;
  compiler_.compile({target_.backend.name, options_.store, key, trial->request, options_.scratch},
                    spec_.kernel.compile_timeout_s,
                    [this, key](const CompileAnswer& answer) { on_compiled(key, answer); });
}

void Tuning::on_compiled(const std::string& key, const CompileAnswer& answer) {
  ++answers_;
  const auto found = waiting_for_artifact_.find(key);
  const std::vector<TrialPtr> trials = std::move(found->second);
  waiting_for_artifact_.erase(found);
  compiling_ -= trials.size();
  if (!answer.warning.empty() && !std::exchange(warned_of_cache_, true))
    observer_.on_warning(answer.warning + "; what is compiled is kept for this run alone");
  result_.compile_cpu_s += answer.cpu_s;
  result_.compile_wall_s = static_cast<double>(clock_.now_ns() - *first_compile_ns_) * 1e-9;
  for (const TrialPtr& trial : trials) {
    trial->request = {};  // a source may be long, and is not needed any more
    trial->artifact = answer.artifact;
    Record& record = trial->record;
    if (trial->purpose == Trial::Purpose::drift) {
      if (answer.outcome == Outcome::ok) ready_.push_front(trial);
      continue;
    }
    if (trial->purpose == Trial::Purpose::calibrate) {
      calibration_.trial = trial;
      if (answer.outcome != Outcome::ok) calibrate_with_another();
      continue;
    }
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
    if (trial->purpose == Trial::Purpose::finalist)
      finalists_.push_back(trial);
    else if (record.outcome == Outcome::ok)
      ready_.push_back(trial);
    else
      finish(*trial, answer.log);
  }
}

BenchJob Tuning::job_of(const Trial& trial) const {
  return {trial.artifact, trial.launch, resolver_.scalars(trial.config), std::nullopt};
}

void Tuning::fill(Record& record, const Trial& trial, const Lane& lane, const BenchAnswer& answer) const {
  record.device = lane.device;
  record.outcome = answer.outcome;
  const bool timed = answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned;
  record.stage = timed ? "measure" : answer.stage;
  record.message = answer.message;
  record.samples_ms = answer.samples_ms;
  record.tainted = answer.taints;
  record.dynamic_shared_bytes = trial.launch.shared_bytes;
  record.validation = answer.validation;
  record.telemetry = answer.telemetry;
  record.bench_s = answer.busy_s;
  if (timed) record.time_ms = summarize(record.samples_ms);
}

void Tuning::on_benched(const TrialPtr& trial, Lane& lane, const BenchAnswer& answer) {
  ++answers_;
  lane.busy = false;
  result_.device_busy_s += answer.busy_s;
  if (answer.no_device) {
    ready_.push_front(trial);
    return leave(lane, answer.message);
  }
  fill(trial->record, *trial, lane, answer);
  if (throne_) {
    ++throne_->races;
    throne_->busy_s += answer.busy_s;
  }
  if (answer.outcome == Outcome::ok && races()) consider_incumbent(trial, false);
  finish(*trial, answer.log);
  follow_drift();
}

void Tuning::stamp(Record& record) const {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  record.host = host;
  record.attempt = options_.attempt;
  record.unix_time_ms = clock_.unix_time_ms();
}

/// A store that cannot be written must not cost the user the run.
void Tuning::store(const Record& record) {
  try {
    writer_->append(record);
  } catch (const Error& error) {
    observer_.on_warning(error.what());
  }
}

/// Stamps and stores a fresh record.
void Tuning::finish(Trial& trial, const std::string& log) {
  stamp(trial.record);
  store(trial.record);
  take(trial, trial.record, log, false);
}

void Tuning::take(const Trial& trial, Record record, const std::string& log, bool from_store) {
  const bool settled = trial.purpose == Trial::Purpose::settle;
  const std::size_t place = settled ? trial.replaces : result_.records.size();
  if (settled && --result_.counts[Outcome::pruned] == 0) result_.counts.erase(Outcome::pruned);
  ++result_.counts[record.outcome];
  // Strategies minimise times, or what stands for them.
  double told = 0;
  if (record.outcome == Outcome::ok) told = criterion_.score ? objective_.search_score(record) : criterion_.of(record);
  if (record.outcome == Outcome::pruned) told = record.time_ms.min;
  if (const double score = record.outcome == Outcome::ok ? criterion_.of(record) : NAN;
      std::isfinite(score) && (!best_score_ || score < *best_score_)) {
    best_score_ = score;
    best_ = place;
  }
  if (record.outcome == Outcome::ok && !calibration_.index) calibration_.index = trial.proposal.index;
  if (record.outcome == Outcome::pruned) pruned_.push_back({place, trial.proposal.index});
  if (settled) {
    result_.records[place] = std::move(record);
  } else {
    path_.set_outcome(trial.proposal.number, {trial.proposal.index, record.outcome, told});
    result_.records.push_back(std::move(record));
  }
  observer_.on_record(result_.records[place], log, from_store);
  report();
}

void Tuning::report() {
  Progress progress;
  progress.done = result_.records.size();
  progress.total = options_.only.empty() ? std::min<std::uint64_t>(evals_, space_.size()) : options_.only.size();
  progress.from_store = result_.from_store;
  progress.compiling = compiling_;
  progress.waiting = ready_.size();
  progress.elapsed_s = elapsed_s();
  progress.best = best_score_ ? &result_.records[best_] : nullptr;
  observer_.on_progress(progress);
}

std::vector<const Record*> TuneResult::all() const {
  std::vector<const Record*> pointers;
  for (const std::vector<Record>* list : {&records, &further})
    for (const Record& record : *list) pointers.push_back(&record);
  return pointers;
}

TuneResult tune(const Spec& spec, const Bindings& problem, const Target& target, const TuneOptions& options,
                EventLoop& loop, CompileService& compiler, const std::vector<BenchService*>& benches, Clock& clock,
                TuneObserver& observer, const std::atomic<bool>& stop) {
  return Tuning(spec, problem, target, options, loop, compiler, benches, clock, observer, stop).go();
}

}  // namespace xtune

// The tuner's loop: propose, look into the store, compile, bench, record, observe; and what it compiles.
#include "core/run/tuner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/deadline.hpp"
#include "core/build/keyed_files.hpp"
#include "core/run/tuning.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr std::uint64_t default_evals = 400;
// Of [search] seconds: the rest is for the finals.
constexpr double share_of_search = 0.9;

}  // namespace

Tuning::Tuning(const Spec& spec, const Bindings& problem, const Target& target, const TuneOptions& options,
               EventLoop& loop, CompileService& compiler, const std::vector<BenchService*>& benches, Clock& clock,
               TuneObserver& observer, const std::atomic<bool>& stop)
    : spec_(spec),
      target_(target),
      options_(options),
      loop_(loop),
      compiler_(compiler),
      clock_(clock),
      stamps_(clock),
      observer_(observer),
      stop_(stop),
      start_ns_(clock.now_ns()),
      space_(make_space(spec, problem, device_facts(target.device), [this] { stop_where_asked(); })),
      resolver_(spec, space_, problem, target.device, target.arch, target.backend.toolchain, options.sanitize),
      keys_(resolver_),
      objective_(spec),
      criterion_(objective_.criterion(problem, target.device)),
      evals_(spec.search.evals.value_or(spec.search.strategy == "exhaustive" ? space_.size() : default_evals)),
      // On a CPU the kernel and the compilers would fight for the same cores, and every number would be wrong.
      alternate_(is_cpu(target.device)),
      // Each device has one configuration at hand and one waiting.
      batch_(compiler.parallel() * (alternate_ ? 4 : 2) + 2 * std::max<std::size_t>(benches.size(), 1)),
      store_records_(options.records ? *options.records
                                     : own_records_.emplace(options.store, target.device.arch, spec.kernel.name,
                                                            spec.measure.statistic)),
      rows_(read_store(problem)),
      path_(make_search(problem), window()),
      stored_(options.fresh && options.peers ? std::vector<Row>() : std::move(rows_)),
      compile_times_(space_) {
  for (std::size_t i = 0; i < benches.size() && i <= target.further.size(); ++i) {
    benches_.push_back(std::make_unique<RebuildingBench>(*benches[i], compiler_, spec.kernel.compile_timeout_s));
    lanes_.push_back({benches_.back().get(), i == 0 ? target.device : target.further[i - 1]});
  }
  result_.problem = problem;
  result_.device = target.device;
  result_.space_size = space_.size();
  writer_.emplace(options_.store, target_.device.arch, spec_.kernel.name, options_.attempt);
}

TuneResult Tuning::go() {
  std::vector<Deadline> alarms;
  if (spec_.search.seconds)
    for (const double share : {share_of_search, 1.0})
      alarms.emplace_back(loop_, std::max(0.0, share * *spec_.search.seconds) + 1e-3, 0, [](bool) {});
  // Callbacks point at this object: none may come once it is gone, whichever way it goes.
  struct Abandon {
    Tuning& run;
    ~Abandon() {
      run.compiler_.cancel_all();
      for (const Lane& lane : run.lanes_) lane.bench->cancel_all();
    }
  } abandon{*this};
  bool done = false;
  if (options_.peers) {
    peers_.emplace(*options_.peers, [this](const std::string& text) { observer_.on_warning(text); });
    share_in_blocks();
    look_at_peers();
    look_at_peers_later();
  }
  while (!stopping()) {
    if (draining()) {
      if (benching() == 0 || !loop_.run_once()) break;
      continue;
    }
    pump();
    leave_peers();
    done = in_flight() == 0 && !waits_for_peers() && search_is_over() && !go_on_after_search();
    if (done) break;
    if (in_flight() == 0 && !waits_for_peers()) continue;
    const std::uint64_t before = answers_;
    if (!loop_.run_once() && answers_ == before) throw Error(ErrorKind::io, "the workers ended without an answer");
  }
  result_.interrupted = stop_.load() || (draining() && !done);
  result_.out_of_time = !result_.interrupted && !(done && exhausted());
  try {
    writer_->sync();
  } catch (const Error& error) {
    observer_.on_warning(error.what());
  }
  if (not_stored_ > 1)
    observer_.on_warning(
        fmt::format("{} records could not be stored: later runs will measure them again", not_stored_));
  if (left_out_ > 1)
    observer_.on_warning(fmt::format(
        "{} failures are not stored, since the machine may have caused them: later runs try them again", left_out_));
  read_reported();
  result_.total_s = elapsed_s();
  report();
  return std::move(result_);
}

/// Cuts the search where its time is up; what the device is at ends by itself.
bool Tuning::search_is_over() {
  if (!search_cut_ && holds_finals() && time_is_up(share_of_search)) {
    search_cut_ = true;
    compiler_.cancel_all();
    for (const auto& bench : benches_) bench->compile_after_all();
    waiting_for_artifact_.clear();
    ready_.clear();
    elsewhere_.clear();
    compiling_ = 0;
    if (!problem_set_) reference_.reset();  // its kernel was compiling too
  }
  return search_cut_ || exhausted();
}

/// Starts whatever may start now.
void Tuning::pump() {
  while (!search_is_over() && may_compile() && room() && !stopping()) {
    const auto proposal = next_proposal();
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

void Tuning::start_compile(const TrialPtr& trial) {
  if (!first_compile_ns_) first_compile_ns_ = clock_.now_ns();
  if (!reference_) prepare_bench(trial->config);
  ++compiling_;
  const std::string& key = trial->record.artifact_key;
  auto& waiting = waiting_for_artifact_[key];
  waiting.push_back(trial);
  // Configurations that differ in launch-only parameters share one artifact.
  if (waiting.size() > 1) return;
  CompileJob job = compile_job(key, trial->request);
  if (trial->purpose == Trial::Purpose::search && orders_compiles())
    job.expected_s = compile_times_.expected_s(space_.value_indices(trial->proposal.index));
  compiler_.compile(job, spec_.kernel.compile_timeout_s,
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
  // A worker that compiled looked itself; one that was killed did not.
  if (answer.outcome != Outcome::ok && trials.front()->request.files) throw_if_changed(*trials.front()->request.files);
  result_.compile_cpu_s += answer.cpu_s;
  if (orders_compiles() && !answer.cached)
    compile_times_.learn(space_.value_indices(trials.front()->proposal.index), answer.cpu_s);
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
    trial->lack = answer.lack;
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

CompileJob Tuning::compile_job(const std::string& key, CompileRequest request) const {
  return {target_.backend.name, options_.store, key, std::move(request), options_.scratch};
}

BenchJob Tuning::job_of(const Trial& trial) const {
  BenchJob job{trial.artifact, trial.launch, resolver_.scalars(trial.config), std::nullopt, trial.record.config};
  job.compile_job = [this, key = trial.record.artifact_key, config = trial.config] {
    return compile_job(key, resolver_.compile_request(config));
  };
  return job;
}

TuneResult tune(const Spec& spec, const Bindings& problem, const Target& target, const TuneOptions& options,
                EventLoop& loop, CompileService& compiler, const std::vector<BenchService*>& benches, Clock& clock,
                TuneObserver& observer, const std::atomic<bool>& stop) {
  return Tuning(spec, problem, target, options, loop, compiler, benches, clock, observer, stop).go();
}

}  // namespace xtune

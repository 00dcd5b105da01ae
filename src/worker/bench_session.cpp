// The trial of one configuration, and of several in turns: the finals, and repeated measurements of the incumbent.
#include "worker/bench_session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "system/deadline.hpp"
#include "worker/ipc/protocol.hpp"

namespace xtune::worker {
namespace {

/// As bytes: a directory's name need not be UTF-8, as text in JSON must be.
std::string name_of(const run::BenchJob& job) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(to_json(job));
  return {bytes.begin(), bytes.end()};
}

/// The round in which a job runs for the last time; rounds.size() if it never runs.
std::size_t last_round_of(std::size_t index, const std::vector<std::vector<std::size_t>>& rounds) {
  for (std::size_t i = rounds.size(); i-- > 0;)
    if (std::find(rounds[i].begin(), rounds[i].end(), index) != rounds[i].end()) return i;
  return rounds.size();
}

/// The value of each metric in the contender's last run.
void append_last(const device::ProgramCall& call, const Sampler& sampler, run::Reported& reported) {
  reported.resize(std::min(call.metrics.size(), sampler.reported().size()));
  for (std::size_t i = 0; i < reported.size(); ++i) {
    reported[i].first = call.metrics[i].name;
    reported[i].second.push_back(sampler.reported()[i].back());
  }
}

run::Ending ending_of(const build::CandidateFailure& failure) {
  return {failure.outcome(), build::lack_of(failure), failure.what(), failure.log()};
}

/// For each configuration.
measure::Budget budget_of(const run::OpenJob& problem, system::Clock& clock, std::size_t configurations) {
  constexpr double spare = 0.05;
  const double limit_s = problem.measure.timeout_s * static_cast<double>(configurations);
  return {clock, limit_s, spare * limit_s};
}

/// Whether more than the limit was spent, without the longest time that a thread has waited for a CPU since `before`.
bool is_over(const measure::Budget& budget, const system::CpuTimes& before) {
  const double spent_s = budget.spent_s();
  std::uint64_t waited_ns = 0;
  for (const auto& [id, now] : system::cpu_times(::getpid())) {
    const auto known = before.find(id);
    waited_ns = std::max(waited_ns, now.wait_ns - (known == before.end() ? 0 : known->second.wait_ns));
  }
  return spent_s - static_cast<double>(waited_ns) * 1e-9 > budget.limit_s();
}

}  // namespace

BenchSession::BenchSession(measure::Device& device, run::OpenJob job, system::Clock& clock,
                           std::function<std::uint64_t()> available_bytes)
    : problem_(device, std::move(job), std::move(available_bytes)),
      validator_(problem_),
      clock_(clock),
      measurer_(problem_, validator_, clock),
      reference_(problem_, validator_, measurer_, clock) {}

std::uint64_t BenchSession::host_bytes() const noexcept {
  return problem_.needs.host + (device::is_cpu(problem_.device.info()) ? problem_.needs.device : 0);
}

void BenchSession::renew_inputs(std::uint64_t seed) {
  if (problem_.fresh_inputs && seed == problem_.job.seed) return;
  contenders_.clear();
  validator_.forget();
  reference_.forget();
  problem_.renew_inputs(seed);
}

run::BenchAnswer BenchSession::bench(const run::BenchJob& job) {
  if (job.inputs_seed) renew_inputs(*job.inputs_seed);
  reference_.prepare();
  contenders_.clear();
  run::BenchAnswer answer;
  const system::CpuTimes before = system::cpu_times(::getpid());
  measure::Budget budget = budget_of(problem_.job, clock_, 1);
  answer.stage = "load";
  try {
    LoadedProgram loaded = problem_.load(job);
    answer.stage = "run";
    bench_loaded(loaded, job, budget, answer);
    // After the last launch, so that intact inputs need not be written again for the next configuration.
    if (answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned)
      validator_.judge_inputs(answer) && problem_.check_constants(*loaded.program, answer);
  } catch (const build::CandidateFailure& failure) {
    static_cast<run::Ending&>(answer) = ending_of(failure);
  }
  if (answer.outcome != Outcome::ok && answer.outcome != Outcome::pruned) {
    answer.samples_ms.clear();
    answer.reported.clear();
  }
  late_ = is_over(budget, before);
  answer.busy_s = budget.spent_s();
  return answer;
}

void BenchSession::refuse_late(run::BenchAnswer& answer) const {
  if (!late_ || (answer.outcome != Outcome::ok && answer.outcome != Outcome::pruned)) return;
  answer.outcome = Outcome::timed_out;
  answer.message = too_slow_text(problem_.job);
  answer.samples_ms.clear();
  answer.reported.clear();
}

void BenchSession::bench_loaded(LoadedProgram& loaded, const run::BenchJob& job, measure::Budget& budget,
                                run::BenchAnswer& answer) {
  BufferSet& first = problem_.sets[0];
  validator_.reset_sets();
  const std::vector<measure::KernelArgument> arguments = problem_.arguments_for(first, *loaded.scratch, job);
  const std::vector<measure::Buffer*> always_zeroed = loaded.scratch->zeroed();
  const auto run_once = [&](bool timed, bool zeroed = false) {
    loaded.scratch->renew(zeroed ? std::nullopt : std::optional(validate::Poison::usual));
    measure::RunOptions options{arguments, timed, 0};
    options.graph = problem_.job.measure.launch == spec::LaunchBy::graph;
    options.zeroed = always_zeroed;
    const double time_ms = loaded.program->run(options).time_ms;
    problem_.add_up(first, *loaded.scratch);
    return time_ms;
  };
  const double start_s = budget.spent_s();
  // A program's first output need not have its time.
  const bool timed = job.incumbent || !(job.validate_only || loaded.program->times_itself());
  const double first_ms = run_once(timed), first_s = budget.spent_s() - start_s;
  answer.stage = "validate";
  // It is not found out why a slow kernel is wrong: it would time out.
  const bool slow = first_s > problem_.job.measure.timeout_s / 4;
  const auto launch_again = [&](bool zeroed) { run_once(false, zeroed); };
  if (!loaded.scratch->check_guards(answer) ||
      !(slow ? validator_.judge_outputs(first, answer)
             : validator_.judge_first_launch(first, *loaded.scratch, launch_again, answer)))
    return;
  const double judged_s = budget.spent_s() - start_s;
  validator_.check_by_command(first);
  budget.extend(budget.spent_s() - start_s - judged_s);  // a check has its own limit
  leave_outputs(problem_.job, problem_.arguments, first, "first");
  std::optional<RepeatCheck> repeats;
  if (problem_.job.repeats > 0) repeats.emplace(validator_.first_of_repeats(first));
  const auto judge_repeats = [&](int times) {
    if (!repeats) return true;
    for (int i = 0; i < times && repeats->result().same(); ++i) {
      validator_.restore(first, validate::Poison::usual);
      run_once(false);
      repeats->compare(first);
    }
    answer.repeatable = repeats->result();
    if (repeats->result().same() || !problem_.job.must_repeat) return true;
    answer.stage = "validate";
    // An input that a launch changed is the cause of other outputs, not their consequence.
    return validator_.judge_inputs(answer) && repeats->refuse(answer);
  };
  if (!judge_repeats(problem_.job.repeats) || (job.validate_only && loaded.program->times_itself())) return;
  answer.stage = "measure";
  Sampler sampler = measurer_.sampler(loaded, job);
  if (job.validate_only) {
    validator_.judge_last_launch(loaded, sampler, true, answer);
    return;
  }
  budget.reserve(judged_s + (repeats ? first_s : 0));
  if (!measurer_.measure(sampler, job, {first_ms, first_s}, budget, answer)) return;
  const bool again = budget.launches_left(judged_s) > 0;
  if (validator_.judge_last_launch(loaded, sampler, again, answer)) judge_repeats(1);
}

BenchSession::Contender* BenchSession::contender(const run::BenchJob& job, Contenders& kept) {
  const std::string name = name_of(job);
  if (auto known = kept.extract(name); !known.empty()) return &contenders_.insert(std::move(known))->second;
  LoadedProgram loaded = problem_.load(job);
  loaded.scratch->renew();
  Sampler sampler = measurer_.sampler(loaded, job);
  sampler.warm_up(1);
  return &contenders_.emplace(name, Contender{std::move(loaded), std::move(sampler)})->second;
}

void BenchSession::run_rounds(const run::RoundsJob& job, const std::vector<Contender*>& contenders, double round_s,
                              measure::Budget& budget, std::size_t& at, run::RoundsAnswer& answer) {
  bool last = false;
  for (std::size_t round = 0; round < job.rounds.size() && !last; ++round) {
    budget.reserve(round_s);  // of the launches that are compared
    last = budget.launches_left(round_s) < 2;
    const double start_s = budget.spent_s();
    std::vector<std::pair<std::size_t, double>> round_ms;
    for (const std::size_t index : job.rounds[round]) {
      at = index;
      round_ms.emplace_back(index, contenders[index]->sampler.sample_ms());
      // Before another program can overwrite the files of this one.
      if (last || round == last_round_of(index, job.rounds)) contenders[index]->loaded.program->check_last_run();
    }
    for (const auto& [index, time_ms] : round_ms) {
      answer.samples_ms[index].push_back(time_ms);
      if (const auto& call = job.jobs[index].launch.call)
        append_last(*call, contenders[index]->sampler, answer.reported[index]);
    }
    round_s = budget.spent_s() - start_s;
  }
}

run::RoundsAnswer BenchSession::measure_rounds(const run::RoundsJob& job) {
  run::RoundsAnswer answer;
  answer.samples_ms.resize(job.jobs.size());
  answer.reported.resize(job.jobs.size());
  // All of them are judged by one reference.
  if (!job.jobs.empty() && job.jobs.front().inputs_seed) renew_inputs(*job.jobs.front().inputs_seed);
  reference_.prepare();
  measure::Budget budget = budget_of(problem_.job, clock_, job.jobs.size());
  if (job.time_reference) answer.reference_ms = reference_.time_kernel();
  std::size_t at = 0;
  try {
    validator_.reset_sets();
    budget.extend(measurer_.settle());
    Contenders kept = std::exchange(contenders_, {});
    std::vector<Contender*> contenders;
    const double start_s = budget.spent_s();
    for (at = 0; at < job.jobs.size(); ++at) contenders.push_back(contender(job.jobs[at], kept));
    // Those that are new were launched.
    run_rounds(job, contenders, budget.spent_s() - start_s, budget, at, answer);
    measure::Telemetry telemetry;
    answer.taints = measurer_.watch(telemetry);
    judge_rounds(contenders, at, answer);
    if (answer.outcome != Outcome::ok) contenders_.clear();
  } catch (const build::CandidateFailure& failure) {
    contenders_.clear();
    static_cast<run::Ending&>(answer) = ending_of(failure);
    answer.failed = at;
  }
  answer.busy_s = budget.spent_s();
  return answer;
}

/// Checks guards and inputs first: a kernel that overwrites them makes the others' outputs wrong, and it is unknown
/// which one did. Then checks each kernel's outputs.
void BenchSession::judge_rounds(const std::vector<Contender*>& contenders, std::size_t& at, run::RoundsAnswer& answer) {
  run::BenchAnswer verdict;
  if (!validator_.judge_guards(verdict) || !validator_.judge_inputs(verdict)) {
    // All of them may have read overwritten data, so none of the times count.
    for (std::vector<double>& samples : answer.samples_ms) samples.clear();
    for (run::Reported& reported : answer.reported) reported.clear();
    if (contenders.size() == 1) answer.failed = 0;
  }
  for (at = 0; verdict.outcome == Outcome::ok && at < contenders.size(); ++at) {
    if (!problem_.check_constants(*contenders[at]->loaded.program, verdict)) {
      answer.failed = at;
      break;
    }
    if (contenders[at]->loaded.program->times_itself()) continue;  // checked after its last run
    Sampler& sampler = contenders[at]->sampler;
    if (validator_.judge_launches(sampler, *contenders[at]->loaded.scratch, sampler.launches(), validate::Poison::high,
                                  verdict)) {
      validator_.check_by_command(problem_.sets[0], validator_.late_words());
      leave_outputs(problem_.job, problem_.arguments, problem_.sets[0], launch_of_round(at));
      continue;
    }
    verdict.message += validator_.late_words();
    answer.failed = at;
  }
  answer.outcome = verdict.outcome;
  answer.message = verdict.message;
}

}  // namespace xtune::worker

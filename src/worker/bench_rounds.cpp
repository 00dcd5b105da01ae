// Several configurations in turns: the finals, and repeated measurements of the incumbent.
#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "worker/bench_session.hpp"

namespace xtune::worker {
namespace {

/// As bytes: a directory's name need not be UTF-8, as text in JSON must be.
std::string name_of(const ipc::BenchJob& job) {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(ipc::to_json(job));
  return {bytes.begin(), bytes.end()};
}

/// The round in which a job runs for the last time; rounds.size() if it never runs.
std::size_t last_round_of(std::size_t index, const std::vector<std::vector<std::size_t>>& rounds) {
  for (std::size_t i = rounds.size(); i-- > 0;)
    if (std::find(rounds[i].begin(), rounds[i].end(), index) != rounds[i].end()) return i;
  return rounds.size();
}

/// The value of each metric in the contender's last run.
void append_last(const device::ProgramCall& call, const Sampler& sampler, ipc::Reported& reported) {
  reported.resize(std::min(call.metrics.size(), sampler.reported().size()));
  for (std::size_t i = 0; i < reported.size(); ++i) {
    reported[i].first = call.metrics[i].name;
    reported[i].second.push_back(sampler.reported()[i].back());
  }
}

}  // namespace

BenchSession::Contender* BenchSession::contender(const ipc::BenchJob& job, Contenders& kept) {
  const std::string name = name_of(job);
  if (auto known = kept.extract(name); !known.empty()) return &contenders_.insert(std::move(known))->second;
  std::unique_ptr<measure::Program> program = device_.load(with_image(job.artifact), job.launch);
  constants_.fill(*program);
  std::unique_ptr<ScratchBuffers> scratch = make_scratch(job.scratch);
  scratch->renew();
  Sampler sampler = this->sampler(*program, *scratch, {job.launch, job.scalars, job.maps});
  sampler.warm_up(1);
  return &contenders_.emplace(name, Contender{std::move(program), std::move(scratch), std::move(sampler)})->second;
}

void BenchSession::run_rounds(const ipc::RoundsJob& job, const std::vector<Contender*>& contenders, std::size_t& at,
                              ipc::RoundsAnswer& answer) {
  for (std::size_t round = 0; round < job.rounds.size(); ++round) {
    std::vector<std::pair<std::size_t, double>> round_ms;
    for (const std::size_t index : job.rounds[round]) {
      at = index;
      round_ms.emplace_back(index, contenders[index]->sampler.sample_ms());
      // Before another program can overwrite the files of this one.
      if (round == last_round_of(index, job.rounds)) contenders[index]->program->check_last_run();
    }
    for (const auto& [index, time_ms] : round_ms) {
      answer.samples_ms[index].push_back(time_ms);
      if (const auto& call = job.jobs[index].launch.call)
        append_last(*call, contenders[index]->sampler, answer.reported[index]);
    }
  }
}

ipc::RoundsAnswer BenchSession::measure_rounds(const ipc::RoundsJob& job) {
  ipc::RoundsAnswer answer;
  const std::int64_t start = clock_.now_ns();
  answer.samples_ms.resize(job.jobs.size());
  answer.reported.resize(job.jobs.size());
  // All of them are judged by one reference.
  if (!job.jobs.empty() && job.jobs.front().inputs_seed) renew_inputs(*job.jobs.front().inputs_seed);
  prepare_reference();
  if (job.time_reference) answer.reference_ms = time_kernel_reference();
  std::size_t at = 0;
  try {
    reset_sets();
    settle();
    Contenders kept = std::exchange(contenders_, {});
    std::vector<Contender*> contenders;
    for (at = 0; at < job.jobs.size(); ++at) contenders.push_back(contender(job.jobs[at], kept));
    run_rounds(job, contenders, at, answer);
    measure::Telemetry telemetry;
    watch(telemetry, answer.taints);
    judge_rounds(contenders, at, answer);
    if (answer.outcome != Outcome::ok) contenders_.clear();
  } catch (const build::CandidateFailure& failure) {
    contenders_.clear();
    answer.outcome = failure.outcome();
    answer.lack = build::lack_of(failure);
    answer.message = failure.what();
    answer.log = failure.log();
    answer.failed = at;
  }
  answer.busy_s = static_cast<double>(clock_.now_ns() - start) * 1e-9;
  return answer;
}

}  // namespace xtune::worker

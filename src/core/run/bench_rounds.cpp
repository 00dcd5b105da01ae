// Several configurations in turns: the finals, and the incumbent once more.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/run/bench_session.hpp"

namespace xtune {

RoundsAnswer BenchSession::measure_rounds(const RoundsJob& job) {
  RoundsAnswer answer;
  const std::int64_t start = clock_.now_ns();
  answer.samples_ms.resize(job.jobs.size());
  reset_sets();
  settle();
  std::size_t at = 0;
  std::vector<std::pair<std::size_t, double>> round_ms;
  try {
    std::multimap<std::string, Contender> kept = std::exchange(contenders_, {});
    std::vector<Sampler*> samplers;
    for (at = 0; at < job.jobs.size(); ++at) {
      // As bytes: a folder's name need not be UTF-8, which text of JSON must be.
      const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(to_json(job.jobs[at]));
      std::string name(bytes.begin(), bytes.end());
      if (auto known = kept.extract(name); !known.empty()) {
        samplers.push_back(&contenders_.insert(std::move(known))->second.sampler);
        continue;
      }
      std::unique_ptr<Program> program = device_.load(with_image(job.jobs[at].artifact), job.jobs[at].launch);
      Sampler sampler = this->sampler(*program, job.jobs[at].scalars);
      sampler.warm_up(1);
      const auto there = contenders_.emplace(std::move(name), Contender{std::move(program), std::move(sampler)});
      samplers.push_back(&there->second.sampler);
    }
    for (const std::vector<std::size_t>& round : job.rounds) {
      round_ms.clear();
      for (const std::size_t index : round) {
        at = index;
        round_ms.emplace_back(index, samplers[index]->sample_ms());
      }
      for (const auto& [index, time_ms] : round_ms) answer.samples_ms[index].push_back(time_ms);
    }
    Telemetry telemetry;
    watch(telemetry, answer.taints);
    look_at_inputs();
  } catch (const CandidateFailure& failure) {
    contenders_.clear();
    answer.outcome = failure.outcome();
    answer.lack = lack_of(failure);
    answer.message = failure.what();
    answer.log = failure.log();
    answer.failed = at;
  }
  answer.busy_s = static_cast<double>(clock_.now_ns() - start) * 1e-9;
  return answer;
}

}  // namespace xtune

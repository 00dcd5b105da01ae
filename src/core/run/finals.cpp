// The course of the finals.
//
// During the search configurations are measured minutes apart, while clocks, temperature and neighbours change. The
// finals therefore measure the best few again, interleaved: each round launches every finalist once, in random order,
// and rounds are compared within themselves (measure/finals.hpp has the statistics and the source). After the first
// ten rounds, each further request asks for rounds_a_request = 5: enough to make the traffic with the worker small,
// few enough to stop soon after the decision.
//
// Finalists that are certainly slower or certainly as good leave, so that the remaining rounds are for those in doubt.
// A finalist that fails leaves with its failure. If the worker dies and did not report which launch killed it, each
// finalist is launched on its own in a new worker to find out. After max_unexplained = 3 deaths without a known cause
// the finals end with the results so far, because the cause is then more likely the machine than a configuration.
#include "core/run/finals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "core/measure/finals.hpp"
#include "core/record/record.hpp"

namespace xtune::run {
namespace {

constexpr std::size_t rounds_a_request = 5;
constexpr int max_unexplained = 3;

/// Appends values of the same metrics, from these rounds.
void append(const ipc::Reported& more, std::size_t rounds, ipc::Reported& reported) {
  reported.resize(std::max(reported.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::vector<double>& values = more[i].second;
    reported[i].first = more[i].first;
    for (std::size_t round = 0; round < std::min(rounds, values.size()); ++round)
      reported[i].second.push_back(values[round]);
  }
}

}  // namespace

Finals::Finals(ipc::BenchService& bench, std::vector<ipc::BenchJob> jobs, FinalsRule rule, FinalsLimits limits,
               Done done)
    : bench_(bench),
      jobs_(std::move(jobs)),
      rule_(std::move(rule)),
      limits_(limits),
      done_(std::move(done)),
      results_(jobs_.size()),
      left_(jobs_.size()) {}

std::vector<std::size_t> Finals::members() const {
  std::vector<std::size_t> who;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (results_[i].outcome == Outcome::ok && !left_[i]) who.push_back(i);
  return who;
}

void Finals::next() {
  if (!suspects_.empty()) return probe();
  if (!unjudged_.empty()) return ask(std::exchange(unjudged_, {}), 1, false);
  std::vector<std::vector<double>> times, values;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    times.push_back(results_[i].samples_ms);
    values.push_back(times.back());
    if (rule_.value)
      for (double& each : values.back()) each = rule_.value(i, results_[i].reported, each);
  }
  const measure::FinalsVerdict verdict = measure::judge_finals(values, rule_.statistic);
  double longest_ms = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    left_[i] = left_[i] || (verdict.certain[i] && verdict.standing[i] != measure::Standing::fastest);
    const std::vector<double>& samples_ms = results_[i].samples_ms;
    longest_ms = std::max(longest_ms, std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0));
  }
  // Rounds that were taken while the device changed its speed say less.
  const int more = measure::finals_drift(times) != 1 ? limits_.after_drift : 1;
  const auto most = static_cast<std::size_t>(std::max(limits_.rounds, 1) * more);
  const std::vector<std::size_t> who = members();
  if (verdict.decided || who.size() < 2 || round_ >= most || longest_ms >= limits_.kernel_ms * more ||
      mysteries_ == max_unexplained)
    return finish();
  ask(who, std::min(round_ == 0 ? measure::finals_least_rounds : rounds_a_request, most - round_), true);
}

void Finals::probe() {
  const std::size_t suspect = suspects_.back();
  suspects_.pop_back();
  ask({suspect}, 1, false);
}

void Finals::ask(const std::vector<std::size_t>& who, std::size_t rounds, bool counts) {
  ipc::RoundsJob job;
  for (const std::size_t i : who) job.jobs.push_back(jobs_[i]);
  std::vector<std::size_t> places(who.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < rounds; ++i)
    job.rounds.push_back(measure::finals_order(places, limits_.seed, round_ + i));
  job.time_reference = counts && reference_timed_;
  bench_.measure_rounds(job, limits_.timeout_s * static_cast<double>(who.size()),
                        [this, who, counts](const ipc::RoundsAnswer& answer) { take(who, answer, counts); });
}

void Finals::take(const std::vector<std::size_t>& who, const ipc::RoundsAnswer& answer, bool counts) {
  busy_s_ += answer.busy_s;
  if (!answer.reference_ms.empty() && reference_timed_) std::exchange(reference_timed_, {})(answer.reference_ms);
  for (const std::string& taint : answer.taints) base::add_once(taints_, taint);
  if (counts && answer.samples_ms.size() == who.size()) {
    std::size_t rounds = answer.samples_ms.front().size();
    for (const std::vector<double>& series : answer.samples_ms) rounds = std::min(rounds, series.size());
    for (std::size_t place = 0; place < who.size(); ++place) {
      FinalistResult& result = results_[who[place]];
      for (std::size_t i = 0; i < rounds; ++i)
        result.samples_ms.push_back(record::kept_time_ms(answer.samples_ms[place][i]));
      if (place < answer.reported.size()) append(answer.reported[place], rounds, result.reported);
    }
    round_ += rounds;
    if (rounds == 0 && answer.outcome == Outcome::ok) mysteries_ = max_unexplained;
  }
  if (answer.outcome != Outcome::ok) {
    std::optional<std::size_t> culprit = answer.failed;
    if (who.size() == 1) culprit = 0;
    if (culprit) {
      results_[who.at(*culprit)] = {answer.outcome, answer.message, answer.log, {}, {}, answer.lack};
      unjudged_ = who;
      unjudged_.erase(unjudged_.begin() + static_cast<std::ptrdiff_t>(*culprit));
    } else {
      ++mysteries_;
      suspects_ = who;
    }
  }
  next();
}

void Finals::finish() {
  // Last: done may destroy this object.
  const Done done = std::move(done_);
  done(std::move(results_), std::move(taints_));
}

}  // namespace xtune::run

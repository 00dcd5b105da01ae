// Trials of strategies on recordings, spread over threads.
#include "lab/score.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "system/parallel.hpp"
#include "xtune/error.hpp"

namespace xtune::lab {
namespace {

/// The result of one trial.
struct TrialResult {
  std::vector<double> found;  ///< optimum / best found, for each of evals
  std::vector<TrialStep> timed;
  double cpu_s = 0;
  std::uint64_t proposals = 0;
};

double optimum_of(const Recording& recording) {
  double best = std::numeric_limits<double>::infinity();
  for (const RecordedConfig& config : recording.configs)
    if (config.outcome == Outcome::ok) best = std::min(best, config.time_ms);
  return best;
}

void check(const std::vector<Recording>& recordings, const ScoreOptions& options) {
  if (recordings.empty() || options.strategies.empty() || options.evals.empty() || options.repeats == 0)
    throw Error(ErrorKind::invalid_argument,
                "scoring needs a recording, a strategy, a number of evaluations and a repeat");
  if (options.evals.front() == 0 || !std::is_sorted(options.evals.begin(), options.evals.end()))
    throw Error(ErrorKind::invalid_argument, "the numbers of evaluations start at 1 and ascend");
  for (const Recording& recording : recordings) {
    if (recording.valid() == 0)
      throw Error(ErrorKind::nothing_valid,
                  fmt::format("{}: all {} recorded configurations failed; there is no optimum to score by",
                              recording.name, recording.space.size()));
  }
}

/// Calls task(0) .. task(count - 1) on this many threads; rethrows the exception of the lowest number.
template <class Task>
void spread(std::size_t count, std::size_t threads, const Task& task) {
  std::vector<std::exception_ptr> failures(count);
  system::for_each_index(count, static_cast<unsigned>(std::max<std::size_t>(threads, 1)), [&](std::size_t i) {
    try {
      task(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

class Scorer {
 public:
  Scorer(const std::vector<Recording>& recordings, const ScoreOptions& options)
      : recordings_(recordings), options_(options) {
    for (const Recording& recording : recordings) {
      optima_.push_back(optimum_of(recording));
      problems_.push_back(options.aggregate ? AggregateProblem::of(recording) : std::nullopt);
    }
    for (std::size_t i = 0; options.transfer && i < recordings.size(); ++i) {
      Guides guides = guides_for(recordings, i);
      for (const std::string& note : guides.notes)
        if (options.note) options.note(note);
      guides_.push_back(std::move(guides.sources));
    }
  }

  std::vector<StrategyScore> go() {
    const std::size_t per_strategy = recordings_.size() * options_.repeats;
    std::vector<TrialResult> results(options_.strategies.size() * per_strategy);
    spread(results.size(), options_.threads, [&](std::size_t i) {
      results[i] =
          run(options_.strategies[i / per_strategy], i % per_strategy / options_.repeats, i % options_.repeats);
    });
    std::vector<StrategyScore> scores;
    for (std::size_t i = 0; i < options_.strategies.size(); ++i)
      scores.push_back(summed(options_.strategies[i], results.begin() + static_cast<std::ptrdiff_t>(i * per_strategy)));
    return scores;
  }

 private:
  /// Without the names, recordings of equal size would have the same random order in a repeat, and correlated scores.
  std::uint64_t seed_of(const Recording& recording, std::size_t repeat) const {
    const std::uint64_t name = std::stoull(base::sha256(recording.name).substr(0, 16), nullptr, 16);
    return base::mix64(options_.seed ^ base::mix64(repeat ^ name));
  }

  /// The one place where strategies are made for trials.
  std::unique_ptr<search::Strategy> make(const std::string& name, const Recording& recording, std::size_t repeat,
                                         std::uint64_t evals) const {
    search::StrategyOptions options{recording.space, seed_of(recording, repeat), evals};
    if (options_.transfer) options.sources = guides_[static_cast<std::size_t>(&recording - recordings_.data())];
    return search::make_strategy(name, std::move(options));
  }

  TrialResult run(const std::string& name, std::size_t space, std::size_t repeat) const {
    const Recording& recording = recordings_[space];
    TrialResult result;
    const double start_s = options_.thread_cpu_s ? options_.thread_cpu_s() : 0;
    const auto strategy = make(name, recording, repeat, options_.evals.back());
    const std::vector<TrialStep> steps = run_trial(recording, *strategy, {options_.evals.back(), 0});
    if (options_.thread_cpu_s) result.cpu_s = options_.thread_cpu_s() - start_s;
    result.proposals = steps.size();
    for (const std::uint64_t evals : options_.evals)
      // Infinite before an ok configuration was found, which makes it 0.
      result.found.push_back(
          steps.empty() ? 0 : optima_[space] / steps[std::min<std::size_t>(evals, steps.size()) - 1].best_ms);
    if (problems_[space])
      result.timed = run_trial(recording, *make(name, recording, repeat, problems_[space]->evals()),
                               {problems_[space]->evals(), problems_[space]->end_s()});
    return result;
  }

  /// In the order of the trials' numbers, so that sums do not depend on the order of threads.
  StrategyScore summed(const std::string& name, std::vector<TrialResult>::iterator results) const {
    StrategyScore score;
    score.strategy = name;
    score.mean.assign(options_.evals.size(), 0);
    double cpu_s = 0, aggregate = 0;
    std::uint64_t proposals = 0;
    std::size_t aggregated = 0;
    for (std::size_t space = 0; space < recordings_.size(); ++space) {
      SpaceScore& one = score.spaces.emplace_back();
      one.found.assign(options_.evals.size(), 0);
      std::vector<std::vector<TrialStep>> timed;
      for (std::size_t repeat = 0; repeat < options_.repeats; ++repeat, ++results) {
        for (std::size_t i = 0; i < one.found.size(); ++i) one.found[i] += results->found[i];
        cpu_s += results->cpu_s;
        proposals += results->proposals;
        timed.push_back(std::move(results->timed));
      }
      for (std::size_t i = 0; i < one.found.size(); ++i) {
        one.found[i] /= static_cast<double>(options_.repeats);
        score.mean[i] += one.found[i];
      }
      if (problems_[space]) one.aggregate = problems_[space]->score(timed);
      if (one.aggregate) {
        aggregate += *one.aggregate;
        ++aggregated;
      }
    }
    for (double& mean : score.mean) mean /= static_cast<double>(recordings_.size());
    if (aggregated) score.aggregate = aggregate / static_cast<double>(aggregated);
    if (proposals) score.ms_per_proposal = cpu_s * 1e3 / static_cast<double>(proposals);
    return score;
  }

  const std::vector<Recording>& recordings_;
  const ScoreOptions& options_;
  std::vector<double> optima_;
  std::vector<std::vector<search::Source>> guides_;  ///< for each recording, if requested
  std::vector<std::optional<AggregateProblem>> problems_;
};

}  // namespace

std::vector<TrialStep> run_trial(const Recording& recording, search::Strategy& strategy, const TrialLimits& limits) {
  std::vector<bool> tried(recording.space.size());
  std::vector<TrialStep> steps;
  TrialStep now{std::numeric_limits<double>::infinity(), 0};
  while (steps.size() < limits.evals && (limits.seconds == 0 || now.seconds < limits.seconds)) {
    const std::vector<std::uint64_t> proposals = strategy.propose(1);
    if (proposals.empty()) break;
    const std::uint64_t index = proposals.front();
    if (proposals.size() > 1 || index >= tried.size() || tried[index])
      throw std::logic_error("a strategy proposed more than it was asked for, or a configuration of no space or twice");
    tried[index] = true;
    const RecordedConfig& config = recording.configs[index];
    if (config.outcome == Outcome::ok) now.best_ms = std::min(now.best_ms, config.time_ms);
    now.seconds += config.seconds();
    steps.push_back(now);
    strategy.observe({index, config.outcome, config.time_ms});
  }
  return steps;
}

std::vector<StrategyScore> score_strategies(const std::vector<Recording>& recordings, const ScoreOptions& options) {
  check(recordings, options);
  return Scorer(recordings, options).go();
}

std::vector<double> random_expectation(const Recording& recording, const std::vector<std::uint64_t>& evals) {
  std::vector<double> times;
  for (const RecordedConfig& config : recording.configs)
    if (config.outcome == Outcome::ok) times.push_back(config.time_ms);
  std::sort(times.begin(), times.end());
  const std::uint64_t all = recording.space.size();
  std::vector<double> found;
  for (const std::uint64_t wanted : evals) {
    const std::uint64_t drawn = std::min(wanted, all);
    double none_better = 1, expectation = 0;  // the probability that none of the ranks so far is drawn
    for (std::size_t rank = 0; rank < times.size() && none_better > 0; ++rank) {
      const std::uint64_t left = all - rank;  // candidates, given that the better ones are not drawn
      const double drawn_now = drawn >= left ? 1 : static_cast<double>(drawn) / static_cast<double>(left);
      expectation += none_better * drawn_now * times.front() / times[rank];
      none_better *= 1 - drawn_now;
    }
    found.push_back(expectation);
  }
  return found;
}

}  // namespace xtune::lab

// The search path of a run, answered by recordings.
#include "adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/random.hpp"
#include "core/run/search_path.hpp"
#include "core/run/services.hpp"

using namespace xtune::base;
using namespace xtune::lab;
using namespace xtune::run;
using namespace xtune::search;

namespace xtune::scaling {
namespace {

std::vector<double> search(const Recording& recording, double optimum_ms, const std::string& strategy,
                           std::size_t window, const std::vector<std::uint64_t>& evals, std::uint64_t seed) {
  SearchPath path(make_strategy(strategy, recording.space, seed, evals.back()), {window, true});
  std::vector<double> found;
  double best_ms = INFINITY;
  for (std::uint64_t done = 0; done < evals.back(); ++done) {
    const auto proposal = path.next();
    if (!proposal) break;
    const RecordedConfig& config = recording.configs[proposal->index];
    if (config.outcome == Outcome::ok) best_ms = std::min(best_ms, config.time_ms);
    path.set_outcome(proposal->number, {proposal->index, config.outcome, config.time_ms}, 0);
    if (done + 1 == evals[found.size()]) found.push_back(optimum_ms / best_ms);
  }
  found.resize(evals.size(), optimum_ms / best_ms);
  return found;
}

}  // namespace

Quality search_together(const std::vector<Recording>& recordings, const std::string& strategy, std::size_t ranks,
                        const std::vector<std::uint64_t>& evals, std::size_t seeds) {
  struct Task {
    const Recording* recording;
    double optimum_ms;
    std::uint64_t seed;
    std::vector<double> found;
  };
  std::vector<Task> tasks;
  for (const Recording& recording : recordings) {
    double optimum_ms = INFINITY;
    for (const RecordedConfig& config : recording.configs)
      if (config.outcome == Outcome::ok) optimum_ms = std::min(optimum_ms, config.time_ms);
    for (std::size_t i = 0; i < seeds; ++i) tasks.push_back({&recording, optimum_ms, mix64(i + 1), {}});
  }
  const std::size_t window = ranks == 1 ? 1 : proposals_in_flight(ranks, evals.back());
  const std::size_t count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < tasks.size(); i += count)
        tasks[i].found = search(*tasks[i].recording, tasks[i].optimum_ms, strategy, window, evals, tasks[i].seed);
    });
  for (std::thread& thread : threads) thread.join();
  Quality quality{ranks, std::vector<double>(evals.size())};
  for (const Task& task : tasks)
    for (std::size_t i = 0; i < evals.size(); ++i)
      quality.found[i] += task.found[i] / static_cast<double>(tasks.size());
  return quality;
}

}  // namespace xtune::scaling

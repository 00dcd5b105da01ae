// What guidance gains and costs: guided search less cold search, by the score (optimum / best found) at each budget,
// paired by seed, over recorded and synthetic targets.
//
//   bench_transfer DIRECTORY                      # its recordings, each device in turn excluded, and synthetic ones
//   bench_transfer DIRECTORY --only convolution   # targets whose name contains it
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include "base/random.hpp"
#include "lab/formats.hpp"
#include "lab/score.hpp"
#include "scenarios.hpp"

using namespace xtune::base;
using namespace xtune::lab;
using namespace xtune::search;

namespace {

using namespace xtune;
using namespace xtune::transfer;

struct Options {
  std::string folder, only, strategy = "auto";
  std::vector<std::uint64_t> evals{10, 25, 50, 100, 200, 400};
  std::size_t repeats = 60, threads = 2, synthetic = 4;
  std::uint64_t seed = 1;
  bool summary = false;
};

Options options_of(int argc, char** argv) {
  Options options;
  CLI::App app("Guided search less cold search, on recordings and synthetic devices.");
  app.add_option("folder", options.folder, "Kernel Tuner caches or xtune records; none: synthetic targets only");
  app.add_option("--only", options.only, "Targets whose name contains this");
  app.add_option("--strategy", options.strategy)->capture_default_str();
  app.add_option("--evals", options.evals, "Budgets, ascending")->delimiter(',')->capture_default_str();
  app.add_option("--repeats", options.repeats, "Seeds of each target")->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first repeat, and of the synthetic devices")->capture_default_str();
  app.add_option("--synthetic", options.synthetic, "Synthetic targets of each kind")->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_flag("--summary", options.summary, "Print the groups without their scenarios");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

struct Target {
  Recording recording;
  std::vector<Scenario> scenarios;
  double optimum_ms = std::numeric_limits<double>::infinity();
};

std::vector<Target> targets_of(const Options& options) {
  std::vector<std::filesystem::path> paths;
  if (!options.folder.empty())
    for (const auto& entry : std::filesystem::directory_iterator(options.folder))
      if (entry.path().string().find(".json") != std::string::npos) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Recording> recordings;
  const auto wanted = [&](const std::string& name) { return name.find(options.only) != std::string::npos; };
  for (const std::filesystem::path& path : paths)
    for (Recording& recording : read_recordings(path)) recordings.push_back(std::move(recording));
  std::vector<Target> targets;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (!wanted(recordings[i].name)) continue;
    targets.push_back({recordings[i], device_scenarios(recordings, i)});
    for (Scenario& scenario : made_scenarios(recordings[i])) targets.back().scenarios.push_back(std::move(scenario));
  }
  for (const Surface surface : {Surface::bowl, Surface::cliffs})
    for (std::uint64_t seed = options.seed; seed < options.seed + options.synthetic; ++seed) {
      Recording recording = synthetic_recording(surface, seed);
      if (!wanted(recording.name)) continue;
      std::vector<Scenario> scenarios = synthetic_scenarios(recording, surface, seed);
      for (Scenario& scenario : made_scenarios(recording)) scenarios.push_back(std::move(scenario));
      targets.push_back({std::move(recording), std::move(scenarios)});
    }
  for (Target& target : targets)
    for (const RecordedConfig& config : target.recording.configs)
      if (config.outcome == Outcome::ok) target.optimum_ms = std::min(target.optimum_ms, config.time_ms);
  return targets;
}

// The score at each budget.
std::vector<double> search(const Options& options, const Target& target, const std::vector<Source>& sources,
                           std::size_t repeat) {
  const std::uint64_t evals = options.evals.back();
  const auto strategy = make_strategy(
      options.strategy, {target.recording.space, mix64(options.seed ^ mix64(repeat)), evals, {}, sources});
  const std::vector<TrialStep> steps = run_trial(target.recording, *strategy, {evals, 0});
  std::vector<double> scores;
  for (const std::uint64_t budget : options.evals)
    scores.push_back(target.optimum_ms / steps[std::min<std::size_t>(budget, steps.size()) - 1].best_ms);
  return scores;
}

constexpr double allowed_loss = 0.01;

struct Summary {
  std::size_t count = 0, surely_worse = 0;
  double cold = 0, guided = 0, worst = std::numeric_limits<double>::infinity(), worst_error = 0;
  void add(double cold_score, double guided_score, double error) {
    ++count;
    cold += cold_score;
    guided += guided_score;
    worst = std::min(worst, guided_score - cold_score);
    if (guided_score - cold_score + 2 * error < -allowed_loss) ++surely_worse;
    worst_error = std::max(worst_error, error);
  }
};

class Benchmark {
 public:
  explicit Benchmark(const Options& options) : options_(options), targets_(targets_of(options)) {}

  void run() {
    std::vector<std::pair<const Target*, const Scenario*>> searches;  // a scenario of none is a cold start
    for (const Target& target : targets_) {
      searches.emplace_back(&target, nullptr);
      for (const Scenario& scenario : target.scenarios) searches.emplace_back(&target, &scenario);
    }
    std::vector<std::vector<std::vector<double>>> scores(searches.size());
    for (auto& of_search : scores) of_search.resize(options_.repeats);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < searches.size() * options_.repeats; i = next++) {
        const auto& [target, scenario] = searches[i / options_.repeats];
        scores[i / options_.repeats][i % options_.repeats] =
            search(options_, *target, scenario ? scenario->guides : std::vector<Source>{}, i % options_.repeats);
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < options_.threads; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    std::size_t cold = 0;
    for (std::size_t i = 0; i < searches.size(); ++i) {
      if (!searches[i].second)
        cold = i;
      else
        compare(*searches[i].first, *searches[i].second, scores[cold], scores[i]);
    }
    print_summary();
  }

 private:
  void compare(const Target& target, const Scenario& scenario, const std::vector<std::vector<double>>& cold,
               const std::vector<std::vector<double>>& guided) {
    std::string line = fmt::format("{:11} {:20} {:48.48}", scenario.group, target.recording.name, scenario.sources);
    const auto repeats = static_cast<double>(options_.repeats);
    for (std::size_t b = 0; b < options_.evals.size(); ++b) {
      double mean_cold = 0, mean_guided = 0, square = 0;
      for (std::size_t r = 0; r < options_.repeats; ++r) {
        mean_cold += cold[r][b] / repeats;
        mean_guided += guided[r][b] / repeats;
      }
      for (std::size_t r = 0; r < options_.repeats; ++r)
        square += std::pow(guided[r][b] - cold[r][b] - mean_guided + mean_cold, 2);
      const double error = std::sqrt(square) / repeats;
      line += fmt::format(" {:6.3f} ±{:.3f}", mean_guided - mean_cold, error);
      auto& summaries = summaries_[scenario.group];
      summaries.resize(options_.evals.size());
      summaries[b].add(mean_cold, mean_guided, error);
    }
    if (!options_.summary) fmt::print("{}\n", line);
  }

  void print_summary() const {
    std::string header = fmt::format("{:32}", "group (scenarios)");
    for (const std::uint64_t budget : options_.evals) header += fmt::format(" {:>6}", budget);
    fmt::print("\n{}\n", header);
    for (const auto& [group, summaries] : summaries_) {
      const auto row = [&](const std::string& name, const auto& value) {
        std::string line = fmt::format("{:32}", fmt::format("{} ({}) {}", group, summaries.front().count, name));
        for (const Summary& summary : summaries) line += fmt::format(" {:6.3f}", value(summary));
        fmt::print("{}\n", line);
      };
      const auto mean = [](const Summary& summary, double sum) { return sum / static_cast<double>(summary.count); };
      row("cold", [&](const Summary& s) { return mean(s, s.cold); });
      row("guided", [&](const Summary& s) { return mean(s, s.guided); });
      row("guided - cold", [&](const Summary& s) { return mean(s, s.guided - s.cold); });
      row("worse by .01", [&](const Summary& s) { return static_cast<double>(s.surely_worse); });
      row("worst", [&](const Summary& s) { return s.worst; });
      row("largest error", [&](const Summary& s) { return s.worst_error; });
    }
  }

  Options options_;
  std::vector<Target> targets_;
  std::map<std::string, std::vector<Summary>> summaries_;
};

}  // namespace

int main(int argc, char** argv) try {
  Benchmark(options_of(argc, argv)).run();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}

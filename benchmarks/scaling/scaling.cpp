// The gain from several ranks of one job: exhaustive search of a large space on a simulated clock, and the quality of a
// search that learns. Prints two tables.
//
//   bench_scaling                                          # only exhaustive, with evaluations of 40 and 150 ms
//   bench_scaling convolution-A100.json.gz gemm.json.gz    # with times and outcomes of recordings, too
//   bench_scaling shared --strategy exhaustive             # another table: whole runs on a simulated NFS server
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "adaptive.hpp"
#include "base/random.hpp"
#include "core/run/services.hpp"
#include "exhaustive.hpp"
#include "lab/formats.hpp"
#include "shared.hpp"

using namespace xtune::base;
using namespace xtune::lab;
using namespace xtune::run;

namespace {

using namespace xtune;
using namespace xtune::scaling;

struct Options {
  std::vector<std::string> recordings;
  std::uint64_t configs = 1'000'000;
  std::size_t most_ranks = 1024, seeds = 20, evals_for_costs = 20'000;
  double claim_ms = 1, file_ms = 0.3;
  std::string strategy = "auto";
  SharedJob shared{"", 1, 1024, 3};
  std::vector<std::size_t> shared_ranks{1, 8, 64, 512};
  NfsModel nfs;
};

Options options_of(int argc, char** argv) {
  Options options;
  CLI::App app("What ranks of one job gain.");
  app.add_option("recordings", options.recordings, "Kernel Tuner caches or xtune records");
  app.add_option("--configs", options.configs, "of the space that is searched exhaustively")->capture_default_str();
  app.add_option("--ranks", options.most_ranks, "at most")->capture_default_str();
  app.add_option("--seeds", options.seeds, "of each recording")->capture_default_str();
  app.add_option("--claim-ms", options.claim_ms, "a link on the shared filesystem")->capture_default_str();
  app.add_option("--file-ms", options.file_ms, "to ask for news in one file")->capture_default_str();
  app.add_option("--strategy", options.strategy, "that learns")->capture_default_str();
  CLI::App& shared = *app.add_subcommand("shared", "Whole runs on a simulated NFS server");
  shared.add_option("--strategy", options.shared.strategy)->required();
  shared.add_option("--ranks", options.shared_ranks)->capture_default_str();
  shared.add_option("--evals", options.shared.evals)->capture_default_str();
  shared.add_option("--evaluation-s", options.shared.evaluation_s)->capture_default_str();
  shared.add_option("--killed", options.shared.killed)->capture_default_str();
  shared.add_option("--node", options.nfs.ranks_a_node)->capture_default_str();
  shared.add_option("--entries-s", options.nfs.entries_s)->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

/// Three tenths are the same for all; the rest is drawn from an exponential distribution.
std::vector<double> drawn_times(double mean_s) {
  Random random(1);
  std::vector<double> times(99'991);
  for (double& each : times) each = mean_s * (0.3 - 0.7 * std::log(1 - random.uniform()));
  return times;
}

std::vector<double> recorded_times(const std::vector<Recording>& recordings) {
  std::vector<double> times;
  for (const Recording& recording : recordings)
    for (const RecordedConfig& config : recording.configs)
      if (config.seconds() > 0) times.push_back(config.seconds());
  return times;
}

void show_exhaustive(const Options& options, const DriverCosts& costs, const std::string& name,
                     std::vector<double> evaluation_s) {
  double mean_s = 0;
  for (const double each : evaluation_s) mean_s += each / static_cast<double>(evaluation_s.size());
  fmt::print("\nexhaustive, {} configurations, {}: {:.0f} ms each\n", options.configs, name, mean_s * 1e3);
  fmt::print("{:>6} {:>12} {:>10} {:>14}\n", "ranks", "time", "efficiency", "claims a rank");
  Job job;
  job.configs = options.configs;
  job.evaluation_s = std::move(evaluation_s);
  job.claim_s = options.claim_ms * 1e-3;
  job.file_s = options.file_ms * 1e-3;
  job.costs = costs;
  double alone_s = 0;
  for (job.ranks = 1; job.ranks <= options.most_ranks; job.ranks *= 4) {
    const scaling::Timing timing = simulate(job);
    if (job.ranks == 1) alone_s = timing.seconds;
    const double ranks = static_cast<double>(job.ranks);
    fmt::print("{:>6} {:>10.1f} s {:>9.1f}% {:>14.0f}\n", job.ranks, timing.seconds,
               100 * alone_s / (ranks * timing.seconds), static_cast<double>(timing.claims) / ranks);
    std::fflush(stdout);
  }
}

void show_adaptive(const Options& options, const std::vector<Recording>& recordings) {
  fmt::print("\n{}, optimum / best found, mean of {} recordings and {} seeds each\n", options.strategy,
             recordings.size(), options.seeds);
  const std::vector<std::uint64_t> evals{100, 200, 400};
  fmt::print("{:>6} {:>7}", "ranks", "ahead");
  for (const std::uint64_t each : evals) fmt::print(" {:>9}", fmt::format("after {}", each));
  fmt::print("\n");
  for (std::size_t ranks = 1; ranks <= 64; ranks *= 2) {
    const Quality quality = search_together(recordings, options.strategy, ranks, evals, options.seeds);
    fmt::print("{:>6} {:>7}", ranks, ranks == 1 ? 1 : proposals_in_flight(ranks, evals.back()));
    for (const double found : quality.found) fmt::print(" {:>9.4f}", found);
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void show_shared(const Options& options) {
  fmt::print("{}, {} evaluations of {} s, {} processes on a node\n", options.shared.strategy, options.shared.evals,
             options.shared.evaluation_s, options.nfs.ranks_a_node);
  fmt::print("{:>6} {:>8} {:>8} {:>9} {:>8} {:>7} {:>11} {:>7} {:>7} {:>13} {:>7}\n", "ranks", "time, s", "claims",
             "claims/s", "wasted", "answer", "calls/rank", "inodes", "names", "operations/s", "server");
  for (const std::size_t ranks : options.shared_ranks) {
    SharedJob job = options.shared;
    job.ranks = ranks;
    const SharedResult result = share(job, options.nfs);
    const NfsCounts& nfs = result.nfs;
    const auto each = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(ranks); };
    const double operations_per_s = static_cast<double>(nfs.total()) / nfs.seconds;
    fmt::print("{:>6} {:>8.1f} {:>8} {:>9.1f} {:>7.2f}% {:>7.4f} {:>11.0f} {:>7.1f} {:>7.1f} {:>13.0f} {:>6.1f}%\n",
               ranks, nfs.seconds, result.claims, static_cast<double>(result.claims) / nfs.seconds,
               100 * static_cast<double>(result.wasted) / static_cast<double>(result.measured), result.time_ms,
               each(nfs.calls), each(nfs.inodes), each(nfs.names), operations_per_s,
               100 * options.nfs.server_s * operations_per_s);
    fmt::print("       {}, {} measured, CPU time of the drivers {:.1f} s;",
               result.agree ? result.answer : "ANSWERS DIFFER", result.measured, nfs.driver_s);
    for (const auto& [name, count] : nfs.operations) fmt::print(" {} {}", name, count);
    fmt::print("\n");
    if (!result.trouble.empty()) fmt::print("       {}\n", result.trouble);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  if (!options.shared.strategy.empty()) return show_shared(options), 0;
  try {
    std::vector<Recording> recordings;
    for (const std::string& path : options.recordings)
      for (Recording& each : read_recordings(path)) recordings.push_back(std::move(each));
    const DriverCosts costs = measure_costs(options.evals_for_costs);
    fmt::print(
        "measured here, of the driver's thread for each configuration: its own {:.0f} us, another's {:.0f} us to "
        "read and {:.0f} us to place\n",
        costs.own_s * 1e6, costs.read_s * 1e6, costs.walk_s * 1e6);
    fmt::print("assumed of the shared filesystem: {} ms a claim, {} ms a file that is asked for news\n",
               options.claim_ms, options.file_ms);
    for (const double mean_ms : {40.0, 150.0})
      show_exhaustive(options, costs, "drawn times", drawn_times(mean_ms * 1e-3));
    if (recordings.empty()) return 0;
    show_exhaustive(options, costs, "recorded times", recorded_times(recordings));
    show_adaptive(options, recordings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_scaling: {}\n", error.what());
    return 1;
  }
  return 0;
}

// How much longer a search takes than its compiles need at least, where compile times differ by a factor of ten and
// more: wall clock / max(compile CPU / jobs, longest compile), in simulated time, and why compilers were idle.
//
//   bench_skew                        # a stand-in for a convolution whose filter and tiles are unrolled
//   bench_skew convolution.json.gz    # a recording with its own compile times
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>

#include "base/random.hpp"
#include "core/run/tuner.hpp"
#include "lab/formats.hpp"
#include "lab/replay.hpp"
#include "system/files.hpp"

using namespace xtune;
using namespace xtune::lab;

namespace {

struct Options {
  std::vector<std::string> files;
  std::string strategy = "auto";
  std::vector<std::size_t> jobs{16};
  std::uint64_t evals = 100;
  std::size_t repeats = 10;
};

Options options_of(int argc, char** argv) {
  Options options;
  CLI::App app("Wall clock of searches with skewed compile times, in simulated time.");
  app.add_option("files", options.files, "Recordings; none: a stand-in");
  app.add_option("--strategy", options.strategy)->capture_default_str();
  app.add_option("--jobs", options.jobs, "Compilers at once")->delimiter(',')->capture_default_str();
  app.add_option("--evals", options.evals)->capture_default_str();
  app.add_option("--repeats", options.repeats, "Seeds")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

double noise(std::uint64_t index, std::uint64_t salt, double deviation) {
  base::Random random(base::mix64(index * 2 + salt));
  return std::exp(deviation * std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(2 * M_PI * random.uniform()));
}

/// Compile times as NVRTC 13.0 took for Kernel Tuner's convolution with a 9 x 9 filter: 0.04 to 20 s, by the tile and
/// the block's height, and 20 % that neither explains. The kernel's times are made up.
Recording stand_in() {
  const auto numbers = [](std::initializer_list<std::int64_t> list) {
    return std::vector<Value>(list.begin(), list.end());
  };
  std::vector<space::Parameter> parameters{{"block_size_x", numbers({16, 32, 48, 64, 80, 96, 112, 128})},
                                           {"block_size_y", numbers({1, 2, 4, 8, 16, 32})},
                                           {"tile_size_x", numbers({1, 2, 3, 4, 5, 6, 7, 8})},
                                           {"tile_size_y", numbers({1, 2, 3, 4, 5, 6, 7, 8})},
                                           {"read_only", numbers({0, 1})},
                                           {"use_padding", numbers({0, 1})}};
  const space::Space all(parameters, {}, {});
  std::vector<RecordedRow> rows;
  for (std::uint64_t index = 0; index < all.size(); ++index) {
    const space::Config config = all.at(index);
    const auto value = [&](std::size_t i) { return static_cast<double>(std::get<std::int64_t>(config[i])); };
    const double threads = value(0) * value(1), tile = value(2) * value(3);
    if (threads > 1024) continue;
    RecordedConfig result;
    result.compile_s =
        0.039 * std::pow(tile, 0.46 + 0.19 * std::log(tile)) * std::pow(value(1), 0.39) * noise(index, 0, 0.2);
    result.bench_s = 0.1;
    if ((value(0) * value(2) + 8) * (value(1) * value(3) + 8) * 4 > 49152) {
      result.outcome = Outcome::compile_failed;
    } else {
      const auto away = [](double number, double best) { return std::pow(std::log2(number / best), 2); };
      result.time_ms = (1 + 0.15 * away(threads, 192) + 0.2 * away(tile, 14) + 0.05 * away(value(0), 48)) *
                       (1 + 0.05 * value(4)) * noise(index, 1, 0.05);
      result.samples_ms = {result.time_ms};
    }
    const auto digits = all.value_indices(index);
    rows.push_back({{digits.begin(), digits.end()}, result});
  }
  Recording recording = make_recording(parameters, std::move(rows));
  recording.name = "stand-in", recording.kernel = "stand_in";
  recording.device.name = "none", recording.device.arch = "none";
  return recording;
}

/// Counts the compilers that have nothing to do.
class CountedCompiler final : public run::CompileService {
 public:
  CountedCompiler(CompileService& compiler, system::Clock& clock) : compiler_(compiler), clock_(clock) {}
  void compile(const run::CompileJob& job, double timeout_s, Callback callback) override {
    count();
    ++jobs_;
    idle_before_last_s = idle_s;
    compiler_.compile(job, timeout_s, [this, callback = std::move(callback)](const run::CompileAnswer& answer) {
      count();
      --jobs_;
      longest_s = std::max(longest_s, answer.cpu_s);
      callback(answer);
    });
  }
  std::size_t parallel() const noexcept override { return compiler_.parallel(); }
  void cancel_all() override { compiler_.cancel_all(); }

  double idle_s = 0, idle_before_last_s = 0;  ///< sums over compilers; until the last job was submitted
  double longest_s = 0;

 private:
  void count() {
    const std::int64_t now_ns = clock_.now_ns();
    idle_s += static_cast<double>(parallel() - std::min(parallel(), jobs_)) *
              static_cast<double>(now_ns - std::exchange(counted_ns_, now_ns)) * 1e-9;
  }
  CompileService& compiler_;
  system::Clock& clock_;
  std::size_t jobs_ = 0;
  std::int64_t counted_ns_ = 0;
};

struct Times {
  double wall_s = 0, bound_s = 0, longest_s = 0, waiting_s = 0, end_s = 0, found = 0;
};

Times run_once(const Recording& recording, const spec::Spec& spec, std::size_t jobs) {
  system::EventLoop loop;
  Simulation simulation(loop, 0);
  RecordedAnswers answers(recording);
  ReplayCompileService recorded(simulation, answers, jobs);
  CountedCompiler compiler(recorded, simulation);
  ReplayBenchService bench(simulation, answers);
  const system::TemporaryDirectory store;
  run::TuneOptions options;
  options.store = store.path();
  options.scratch = store.path() / "scratch", options.attempt = "one";
  run::TuneObserver observer;
  const std::atomic<bool> stop{false};
  const run::TuneResult result = run::tune(spec, spec.cases.front(), target_of(recording), options,
                                           {loop, compiler, {&bench}, simulation, stop}, observer);
  double optimum_ms = INFINITY, best_ms = INFINITY;
  for (const RecordedConfig& config : recording.configs)
    if (config.outcome == Outcome::ok) optimum_ms = std::min(optimum_ms, config.time_ms);
  for (const store::Record& record : result.records)
    if (record.outcome == Outcome::ok)
      best_ms = std::min(best_ms, recording.configs[*recording.space.index_of(record.config)].time_ms);
  const double count = static_cast<double>(jobs);
  return {result.total_s,
          std::max({result.compile_cpu_s / count, compiler.longest_s, result.device_busy_s}),
          compiler.longest_s,
          compiler.idle_before_last_s / count,
          (compiler.idle_s - compiler.idle_before_last_s) / count,
          optimum_ms / best_ms};
}

void print_times(const Recording& recording, const Options& options) {
  const system::TemporaryDirectory folder;
  const ImportedTexts texts = import_texts(recording, "replay", "replay.json");
  std::ofstream(folder.path() / "replay.configs.csv") << texts.configs;
  std::ofstream(folder.path() / "replay.jsonl") << texts.records;
  spec::Spec spec = spec::parse_spec(texts.spec, "replay.toml", folder.path());
  prepare(spec);
  spec.search.strategy = options.strategy, spec.search.evals = options.evals;
  for (const std::size_t jobs : options.jobs) {
    Times mean;
    double ratios = 0, worst = 0;
    const double part = 1 / static_cast<double>(options.repeats);
    for (std::size_t i = 0; i < options.repeats; ++i) {
      spec.search.seed = i + 1;
      const Times times = run_once(recording, spec, jobs);
      worst = std::max(worst, times.wall_s / times.bound_s);
      ratios += part * times.wall_s / times.bound_s;
      mean.wall_s += part * times.wall_s, mean.bound_s += part * times.bound_s,
          mean.longest_s += part * times.longest_s;
      mean.waiting_s += part * times.waiting_s, mean.end_s += part * times.end_s, mean.found += part * times.found;
    }
    fmt::print("{:<28} {:>4}  {:5.2f} {:5.2f}  {:6.1f} {:6.1f} {:6.1f}  {:6.1f} {:6.1f}  {:.3f}\n", recording.name,
               jobs, ratios, worst, mean.wall_s, mean.bound_s, mean.longest_s, mean.waiting_s, mean.end_s, mean.found);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  std::vector<Recording> recordings;
  for (const std::string& file : options.files)
    for (Recording& each : read_recordings(file)) recordings.push_back(std::move(each));
  if (recordings.empty()) recordings.push_back(stand_in());
  fmt::print("{:<28} {:>4}  {:>11}  {:>20}  {:>13}\n", "", "", "ratio", "seconds (mean)", "idle (mean)");
  fmt::print("{:<28} {:>4}  {:>5} {:>5}  {:>6} {:>6} {:>6}  {:>6} {:>6}  {}\n", "recording", "jobs", "mean", "worst",
             "wall", "bound", "long", "search", "end", "optimum/best");
  for (const Recording& recording : recordings) print_times(recording, options);
}

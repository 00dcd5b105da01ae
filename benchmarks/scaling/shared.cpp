// The fixture of the tuner's tests, with a device that takes simulated time.
#include "shared.hpp"

#include <cmath>
#include <set>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "cluster/shared_study.hpp"
#include "core/space/value.hpp"
#include "system/files.hpp"
#include "unit/run/tuner_fixture.hpp"

using namespace xtune::base;
using namespace xtune::cluster;
using namespace xtune::run;

namespace xtune::scaling {
namespace {

struct SimulatedClock final : system::Clock {
  std::int64_t now_ns() override { return static_cast<std::int64_t>(simulated_s() * 1e9); }
  std::int64_t unix_time_ms() override { return 1'700'000'000'000 + now_ns() / 1'000'000; }
};

/// Smooth in all parameters, and the best one is unique.
double time_ms(const Bindings& config) {
  const auto of = [&](const char* name) { return static_cast<double>(fakes::Tuning::value(config, name)); };
  return 1 + 0.05 * std::abs(of("A") - 7) + 0.03 * std::abs(of("C") - 11) + 0.02 * std::abs(of("D") - 5);
}

class Sharing {
 public:
  Sharing(const SharedJob& job, const NfsModel& model, std::filesystem::path store)
      : job_(job), model_(model), store_(std::move(store)) {}

  SharedResult run() {
    std::vector<std::function<void()>> processes;
    for (std::size_t i = 0; i < job_.ranks; ++i) processes.push_back([this, i] { run_one(i); });
    result_.nfs = run_on_nfs(store_, model_, processes);
    result_.wasted = result_.measured;
    for (const std::string& config : measured_) result_.wasted -= used_.contains(config);
    return result_;
  }

 private:
  void run_one(std::size_t place) {
    fakes::Tuning run;
    SimulatedClock clock;
    run.options.store = store_;
    run.options.attempt = "attempt" + std::to_string(place);
    run.parameters = "A = { min = 1, max = 16 }\nC = { min = 1, max = 32 }\nD = { min = 1, max = 16 }\n";
    run.rest = "[search]\nstrategy = \"" + job_.strategy + "\"\nevals = " + std::to_string(job_.evals) +
               "\n[measure]\nrace = false\n";
    run.finals = 4;
    std::uint64_t left = place < job_.killed ? job_.evals / job_.ranks / 2 + 1 : UINT64_MAX;
    run.bench.ms_of = [&](const BenchJob& asked) {
      if (left-- == 0) die();
      const std::string config = space::shown_text(asked.config);
      Random random(std::stoull(sha256(config).substr(0, 15), nullptr, 16));
      return static_cast<std::uint64_t>(1e3 * job_.evaluation_s * (0.3 - 0.7 * std::log(1 - random.uniform())));
    };
    run.bench.respond = [&](const BenchJob& asked) {
      ++result_.measured;
      measured_.insert(space::shown_text(asked.config));
      BenchAnswer answer;
      answer.samples_ms.assign(7, time_ms(asked.config));
      return answer;
    };
    run.bench.respond_rounds = [&](const RoundsJob& asked) {
      RoundsAnswer answer;
      for (const BenchJob& one : asked.jobs) answer.samples_ms.emplace_back(asked.rounds.size(), time_ms(one.config));
      return answer;
    };
    cluster::Rank rank;
    rank.rank = static_cast<int>(place);
    rank.size = static_cast<int>(job_.ranks);
    rank.study = "job";
    try {
      SharedStudy peers(run.loop, clock, {store_, "sm_90", "k", {{"N", std::int64_t{8}}}}, rank, run.options.attempt);
      run.options.peers = &peers;
      take(run.run());
      for (const std::string& warning : run.observer.warnings) result_.trouble = warning;
    } catch (const std::exception& error) {
      result_.trouble = error.what();
    }
  }

  void take(const TuneResult& result) {
    for (const store::Record& record : result.records) used_.insert(space::shown_text(record.config));
    const auto best = store::best_of(result.all());
    const std::string answer = best ? space::shown_text(best->record->config) : "none";
    if (best) result_.time_ms = time_ms(best->record->config);
    if (result_.answer.empty()) result_.answer = answer;
    result_.agree = result_.agree && result_.answer == answer;
  }

  const SharedJob& job_;
  const NfsModel& model_;
  const std::filesystem::path store_;
  SharedResult result_;
  std::set<std::string> measured_, used_;  ///< configurations
};

}  // namespace

SharedResult share(const SharedJob& job, const NfsModel& model) {
  const system::TemporaryDirectory folder;
  SharedResult result = Sharing(job, model, folder.path()).run();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "studies"))
    result.claims += entry.path().parent_path().filename() == "claims";
  return result;
}

}  // namespace xtune::scaling

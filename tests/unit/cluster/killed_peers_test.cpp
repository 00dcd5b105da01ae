// Jobs whose processes are killed, stopped or late at random: the remaining ones have every outcome and the same best,
// and no stored configuration is measured again.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "cluster/shared_study.hpp"
#include "core/store/best.hpp"
#include "core/store/record_log.hpp"
#include "fakes/noisy_bench.hpp"
#include "fakes/running_clock.hpp"
#include "system/files.hpp"
#include "unit/run/tuner_fixture.hpp"

using namespace xtune::system;
using namespace xtune::base;
using namespace xtune::cluster;
using namespace xtune::store;
using namespace xtune::run;

namespace {

using namespace xtune;
using fakes::a_of;
using fakes::Tuning;

constexpr int configs = 40, jobs = 16;

enum class End { stays, killed, stopped };

struct Plan {
  std::string strategy;
  bool race = false;
  int finals = 0;
  struct Process {
    End end = End::stays;
    int after = 0;  ///< number of steps
    int late_ms = 0;
  };
  std::vector<Process> processes;
};

Plan draw(std::uint64_t seed) {
  Random random(seed);
  Plan plan;
  plan.strategy = std::vector<std::string>{"exhaustive", "random", "local", "auto"}[random.below(4)];
  plan.race = random.below(2) == 0;
  plan.finals = random.below(2) == 0 ? 0 : 4;
  plan.processes.resize(2 + random.below(4));
  for (Plan::Process& each : plan.processes) {
    each.end = std::vector<End>{End::stays, End::killed, End::stopped}[random.below(3)];
    each.after = static_cast<int>(random.below(2) == 0 ? random.below(20) : random.below(160));
    each.late_ms = random.below(3) == 0 ? static_cast<int>(random.below(400)) : 0;
  }
  plan.processes[random.below(plan.processes.size())].end = End::stays;
  return plan;
}

/// The report of a process that stays: "ok RECORDS BEST FINALS", or its failure.
std::string run_peer(const Plan& plan, std::size_t place, std::uint64_t seed, const std::filesystem::path& store) {
  const Plan::Process& mine = plan.processes[place];
  Random random(mix64(seed) + place);
  ::usleep(static_cast<useconds_t>(mine.late_ms) * 1000);
  Tuning tuning;
  tuning.options.store = store;
  tuning.options.attempt = "attempt" + std::to_string(place);
  tuning.parameters = fmt::format("A = {{ min = 1, max = {} }}\n", configs);
  tuning.rest = fmt::format("[search]\nstrategy = \"{}\"\nevals = {}\n[measure]\nrace = {}\n", plan.strategy, configs,
                            plan.race ? "true" : "false");
  tuning.finals = plan.finals;
  fakes::NoisyBench noisy(tuning.bench, tuning.clock, {}, mix64(seed + place), [](const BenchJob& job) {
    return 1 + 0.002 * std::abs(a_of(job) - 7) + (a_of(job) % 3 == 0 ? 0.3 : 0);
  });
  int steps = 0;
  const auto step = [&] {
    ::usleep(static_cast<useconds_t>(random.below(3000)));
    if (mine.end == End::stays || steps++ != mine.after) return;
    if (mine.end == End::killed) ::raise(SIGKILL);
    tuning.stop = true;
  };
  tuning.compiler.respond = [&](const CompileJob& job) {
    step();
    return fakes::compiled(job);
  };
  tuning.bench.respond = [&, respond = tuning.bench.respond](const BenchJob& job) {
    step();
    return respond(job);
  };
  tuning.bench.respond_rounds = [&, respond = tuning.bench.respond_rounds](const RoundsJob& job) {
    step();
    return respond(job);
  };
  tuning.observer.also = [&](const Record&) { step(); };
  Rank rank;
  rank.rank = static_cast<int>(place);
  rank.size = static_cast<int>(plan.processes.size());
  rank.study = "job";
  try {
    fakes::RunningClock clock(tuning.clock);
    SharedStudy peers(tuning.loop, clock, {store, "sm_90", "k", {{"N", std::int64_t{8}}}}, rank,
                      tuning.options.attempt);
    tuning.options.peers = &peers;
    const TuneResult result = tuning.run();
    const auto best = best_of(result.all());
    std::set<std::string> finals;
    for (const Record& record : result.further) finals.insert(record.finals);
    std::string ids;
    for (const std::string& id : finals) ids += id + ",";
    for (const std::string& warning : tuning.observer.warnings) return warning;
    return fmt::format("ok {} {} {}", result.records.size(),
                       best ? Tuning::value(best->record->config, "A") : std::int64_t{-1}, ids);
  } catch (const std::exception& error) {
    return error.what();
  }
}

struct Left {
  std::set<std::string> words;  ///< from those that stay
  std::vector<std::string> trouble;
};

Left run_job(const Plan& plan, std::uint64_t seed, const std::filesystem::path& folder) {
  std::vector<pid_t> processes;
  const auto word_of = [&](std::size_t place) { return folder / ("word" + std::to_string(place)); };
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    const pid_t process = ::fork();
    if (process == 0) {
      const std::string word = run_peer(plan, i, seed, folder / "store");
      std::ofstream(word_of(i)) << word;
      ::_exit(0);
    }
    processes.push_back(process);
  }
  Left left;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    int status = 0;
    ::waitpid(processes[i], &status, 0);
    if (plan.processes[i].end != End::stays) continue;
    if (!WIFEXITED(status)) left.trouble.push_back(fmt::format("{} ended with status {}", i, status));
    left.words.insert(read_if_there(word_of(i)));
  }
  return left;
}

}  // namespace

TEST_CASE("The remaining processes of a job have all of it, and nothing that was stored was measured again") {
  for (std::uint64_t seed = 1; seed <= jobs; ++seed) {
    TemporaryDirectory folder;
    const Plan plan = draw(seed);
    std::string text = fmt::format("seed {}: {}, race {}, finals {}:", seed, plan.strategy, plan.race, plan.finals);
    for (const Plan::Process& each : plan.processes)
      text += fmt::format(" {}@{}+{}", static_cast<int>(each.end), each.after, each.late_ms);
    CAPTURE(text);
    const Left left = run_job(plan, seed, folder.path());
    CHECK(left.trouble.empty());
    std::string words;
    for (const std::string& word : left.words) words += word + "; ";
    CAPTURE(words);
    CHECK(left.words.size() == 1);
    CHECK(left.words.begin()->rfind(fmt::format("ok {} ", configs), 0) == 0);
    std::map<std::string, std::map<Outcome, int>> stored;
    std::map<std::string, std::set<std::string>> finals;
    for (const Record& record : read_records(folder.path() / "store", "sm_90", "k").records) {
      if (is_first(record)) ++stored[record.key][record.outcome];
      if (!record.finals.empty()) finals[record.finals].insert(record.key);
    }
    CHECK(stored.size() == configs);
    for (const auto& [key, outcomes] : stored)
      for (const auto& [outcome, times] : outcomes) CHECK(times == 1);
    CHECK((plan.finals == 0 || !finals.empty()));
    std::size_t most = 0, whole = 0;
    for (const auto& [id, keys] : finals) most = std::max(most, keys.size());
    for (const auto& [id, keys] : finals) whole += keys.size() == most;
    if (plan.finals) CHECK(whole == 1);
  }
}

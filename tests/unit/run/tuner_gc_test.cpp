// Artifacts that another process removes from the store during a run.
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/run/device_pool.hpp"
#include "tuner_fixture.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::run;

using namespace xtune;
using fakes::a_of;
using fakes::measured;
using fakes::only_a;

namespace {

/// A store that `store gc` empties after every compile: only what lies in the scratch directory is there.
struct Emptied : fakes::Tuning {
  std::map<const fakes::FakeBenchService*, std::set<std::string>> kept;
  std::vector<std::string> missed;
  std::function<double(const BenchJob&)> time_ms = [](const BenchJob&) { return 1.0; };

  Emptied() {
    parameters = only_a;
    compiler.respond = [this](const CompileJob& job) {
      if (job.keep_in_scratch)
        for (auto& [each, keys] : kept) keys.insert(job.key);
      return fakes::compiled(job);
    };
    watch(bench);
  }
  void watch(fakes::FakeBenchService& each) {
    std::set<std::string>& own = kept[&each];
    each.respond = [this, &own](const BenchJob& job) {
      BenchAnswer answer = measured(time_ms(job));
      answer.missing_artifact = missing({job}, own);
      return answer;
    };
    each.respond_rounds = [this, &own](const RoundsJob& job) {
      RoundsAnswer answer;
      answer.missing_artifact = missing(job.jobs, own);
      answer.samples_ms.resize(job.jobs.size());
      for (const auto& round : job.rounds)
        for (const std::size_t index : round) answer.samples_ms[index].push_back(time_ms(job.jobs[index]));
      return answer;
    };
  }
  /// A used one is missing again, so that each purpose misses it once more.
  std::string missing(const std::vector<BenchJob>& jobs, std::set<std::string>& own) {
    for (const BenchJob& job : jobs)
      if (!own.contains(job.artifact.key)) return missed.emplace_back(job.artifact.key);
    own.clear();
    return {};
  }
};

}  // namespace

TEST_CASE("What gc removes is compiled again, in the search and in the finals") {
  Emptied run;
  run.finals = 4;
  const TuneResult result = run.run();
  REQUIRE(result.records.size() == 4);
  CHECK(result.counts.at(Outcome::ok) == 4);
  CHECK(result.finalists == 4);
  CHECK(result.further.size() == 4);
  CHECK(run.missed.size() >= 8);
  // As it was at first: with its definitions, for the same key.
  for (const CompileJob& job : run.compiler.jobs)
    if (job.keep_in_scratch) CHECK_FALSE(fakes::Tuning::define(job, "A").empty());
}

TEST_CASE("What gc removes is compiled again for the incumbent, for what is settled and for other devices") {
  Emptied run;
  run.rest = "[measure]\nrace = true\n[search]\nstrategy = \"exhaustive\"\n";
  run.parameters = "A = { min = 1, max = 30 }\nB = { values = [10, 20], compile_time = false }\n";
  run.watch(run.add_device());
  const TuneResult result = run.run();
  CHECK(result.records.size() == 60);
  CHECK(result.counts.at(Outcome::ok) == 60);
  CHECK(run.observer.warnings.empty());
  CHECK_FALSE(run.bench.rounds.empty());           // the incumbent was measured again
  CHECK_FALSE(run.further.front()->jobs.empty());  // compared with the first device
}

TEST_CASE("Reference and check kernel are compiled again as they were") {
  EventLoop loop;
  fakes::Journal journal;
  fakes::FakeCompileService compiler(loop, journal);
  fakes::FakeBenchService inner(loop, journal);
  RebuildingBench bench(inner, compiler, 30);
  Problem problem;
  CompileJob reference{"cuda", "store", "reference", {}, "scratch"}, check{"cuda", "store", "check", {}, "scratch"};
  reference.request.source = "the reference";
  check.request.source = "the check kernel";
  problem.reference_job = reference;
  problem.check_kernel_job = check;
  bench.set_problem(problem);
  std::vector<std::string> lost{"check", "reference"};
  inner.respond = [&](const BenchJob&) {
    BenchAnswer answer = measured(2);
    if (lost.empty()) return answer;
    answer.missing_artifact = lost.back();
    lost.pop_back();
    return answer;
  };
  std::vector<double> samples_ms;
  bench.bench({}, 10, [&](const BenchAnswer& answer) { samples_ms = answer.samples_ms; });
  loop.run_until([&] { return !samples_ms.empty(); });
  CHECK(samples_ms.front() == 2);
  REQUIRE(compiler.jobs.size() == 2);
  CHECK(compiler.jobs[0].request.source == "the reference");
  CHECK(compiler.jobs[1].request.source == "the check kernel");
  CHECK(compiler.jobs[0].keep_in_scratch);
}

TEST_CASE("An artifact that is missing for ever, or does not compile again, ends the run with its name") {
  for (const bool compiles : {true, false}) {
    Emptied run;
    run.compiler.respond = [&](const CompileJob& job) {
      CompileAnswer answer = fakes::compiled(job);
      if (job.keep_in_scratch && !compiles) {
        answer.outcome = Outcome::compile_failed;
        answer.message = "no header";
      }
      return answer;
    };
    try {
      run.run();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(std::string(error.what()).find(compiles ? "is still missing" : "no header") != std::string::npos);
    }
  }
}

TEST_CASE("What a device waits for is compiled although the search is cut") {
  EventLoop loop;
  fakes::Journal journal;
  fakes::FakeCompileService compiler(loop, journal);
  fakes::FakeBenchService inner(loop, journal);
  RebuildingBench bench(inner, compiler, 30);
  compiler.turns = 50;
  bool kept = false, answered = false;
  compiler.respond = [&](const CompileJob& job) {
    kept = true;
    return fakes::compiled(job);
  };
  inner.respond = [&](const BenchJob& job) {
    BenchAnswer answer = measured(1);
    if (!kept) answer.missing_artifact = job.artifact.key;
    return answer;
  };
  BenchJob job;
  job.artifact.key = "lost";
  Problem problem;
  problem.compile_job = [](const Bindings&) { return CompileJob{"cuda", "store", "lost", {}, "scratch"}; };
  bench.set_problem(problem);
  bench.bench(job, 10, [&](const BenchAnswer&) { answered = true; });
  loop.run_until([&] { return !compiler.jobs.empty(); });
  compiler.cancel_all();
  bench.compile_after_all();
  loop.run_until([&] { return answered; });
  CHECK(answered);
  CHECK(compiler.jobs.size() == 2);
}

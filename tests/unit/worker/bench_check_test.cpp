// Tests of a check by command, and of inputs that are drawn again for each configuration.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "bench_fixture.hpp"

using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using namespace xtune::fakes;

struct CheckBench : Bench {
  explicit CheckBench(const std::string& script) {
    open.folder = folder.path();
    open.check = {"/bin/sh", "-c", script};
  }
  std::string written(const std::string& name) const {
    std::ifstream in(folder.path() / name);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
};

}  // namespace

TEST_CASE("A check judges the first launch and the last one, after the reference") {
  CheckBench bench("echo called >> calls; test -s $XTUNE_INPUTS/x.npy && test -s $XTUNE_OUTPUTS/y.npy");
  CHECK(bench.run("right", doubling).outcome == Outcome::ok);
  CHECK(bench.written("calls") == "called\ncalled\n");
  CHECK(bench.run("wrong", [](const FakeLaunch&) { return 1.0; }).outcome == Outcome::wrong_result);
  CHECK(bench.written("calls") == "called\ncalled\n");
}

TEST_CASE("What a check refuses is a wrong result of the stage that was judged, in finals too") {
  CheckBench first("echo not sorted; exit 1");
  first.open.reference = {};
  const BenchAnswer answer = first.run("right", doubling);
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.stage == "validate");
  CHECK(answer.message == "the validator ended with exit code 1: not sorted");
  CHECK(answer.samples_ms.empty());

  CheckBench late("test ! -e seen || { echo late; exit 1; }; touch seen");
  const BenchAnswer second = late.run("right", doubling);
  CHECK(second.outcome == Outcome::wrong_result);
  CHECK(second.stage == "validate");
  CHECK(second.message.find("the validator ended with exit code 1: late; the first launch was right") == 0);

  CheckBench finals("echo no; exit 1");
  BenchSession session(finals.device, finals.open, finals.clock);
  const RoundsAnswer rounds = session.measure_rounds({{finals.job("right", doubling)}, {{0}, {0}}});
  CHECK(rounds.outcome == Outcome::wrong_result);
  CHECK(rounds.failed == 0);
}

TEST_CASE("Inputs by a seed of each configuration: the reference follows, and so do the kernel's inputs") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  std::vector<float> seen;
  const auto noting = [&](const FakeLaunch& call) {
    if (call.number == 0) seen.push_back(call.buffer<float>(0)[0]);
    return doubling(call);
  };
  for (const std::uint64_t seed : {7u, 8u, 8u, 7u}) {
    BenchJob job = bench.job("right", noting);
    job.inputs_seed = seed;
    CHECK(session.bench(job).outcome == Outcome::ok);
  }
  REQUIRE(seen.size() == 4);
  CHECK(seen[0] == seen[3]);
  CHECK(seen[1] == seen[2]);
  CHECK(seen[0] != seen[1]);
  CHECK(bench.reference_runs == 3);
  // Nothing is left for workers that replace this one: theirs are other inputs.
  CHECK_FALSE(std::filesystem::exists(bench.open.scratch / "expected-complete"));

  // A kernel that knows the outputs of the first inputs by heart is wrong for others.
  std::vector<float> learnt;
  const auto stale = [&](const FakeLaunch& call) {
    if (learnt.empty()) {
      doubling(call);
      learnt.assign(call.buffer<float>(1), call.buffer<float>(1) + count);
    }
    std::memcpy(call.buffer<float>(1), learnt.data(), sizeof(float) * count);
    return 1.0;
  };
  BenchJob job = bench.job("stale", stale);
  job.inputs_seed = 1;
  CHECK(session.bench(job).outcome == Outcome::ok);
  job.inputs_seed = 2;
  CHECK(session.bench(job).outcome == Outcome::wrong_result);

  BenchJob right = bench.job("right", doubling), other = bench.job("other", doubling);
  right.inputs_seed = 3;
  other.inputs_seed = 4;
  CHECK(session.measure_rounds({{right, other}, {{0, 1}, {1, 0}}}).outcome == Outcome::ok);
}

// Tests of the judgement at the end of measuring: kernels that are right at first and wrong later.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench_fixture.hpp"
#include "fakes/fake_check_kernel.hpp"
#include "support/text.hpp"

using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::measure;
using namespace xtune::spec;

namespace {

using namespace xtune;
using namespace xtune::fakes;
using namespace xtune::test;

/// Works in the launches that `works` names, and does nothing in the others.
FakeKernel working(std::function<bool(int)> works) {
  return [works = std::move(works)](const FakeLaunch& call) { return works(call.number) ? doubling(call) : 0.1; };
}

constexpr const char* late = "; the first launch was right, and a later one was not";

/// Where outputs are compared on the device.
void check_there(Bench& bench) {
  bench.open.check_kernel = bench.artifact("check");
  bench.device.kernels[bench.open.check_kernel->key] = check_kernel_of_f32;
}

}  // namespace

TEST_CASE("A kernel that stops working after its first launch is wrong, on the host and on the device") {
  for (const bool there : {false, true}) {
    for (const Flush flush : {Flush::none, Flush::l2, Flush::rotate}) {
      CAPTURE(there);
      CAPTURE(static_cast<int>(flush));
      Bench bench;
      bench.open.measure.flush = flush;
      if (there) check_there(bench);
      for (const int launches : {1, 5}) {
        const BenchAnswer answer =
            bench.run("stops " + std::to_string(launches), working([=](int number) { return number < launches; }));
        CHECK(answer.outcome == Outcome::wrong_result);
        CHECK(answer.stage == "validate");
        CHECK(answer.samples_ms.empty());
        CHECK(has(answer.message, late));
        REQUIRE(answer.validation.has_value());
        CHECK(answer.validation->unwritten == count);
      }
      CHECK(bench.run("right", doubling).outcome == Outcome::ok);
    }
  }
}

TEST_CASE("A kernel that stops working after its first launch is wrong where nothing is measured, too") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob job = bench.job("once", working([](int number) { return number < 1; }));
  job.validate_only = true;
  const BenchAnswer answer = session.bench(job);
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(has(answer.message, late));
  job = bench.job("right", doubling);
  job.validate_only = true;
  CHECK(session.bench(job).outcome == Outcome::ok);
}

TEST_CASE("Without a reference, the elements that no launch writes are counted, on the host and on the device") {
  for (const bool there : {false, true}) {
    CAPTURE(there);
    Bench bench;
    bench.open.reference = {};
    if (there) check_there(bench);
    const auto half = [](const FakeLaunch& call) {
      std::fill_n(call.buffer<float>(1), count / 2, 1.0f);
      return 1.5;
    };
    const BenchAnswer answer = bench.run("half", half);
    CHECK(answer.outcome == Outcome::ok);
    REQUIRE(answer.validation);
    CHECK_FALSE(answer.validation->has_reference());
    CHECK(answer.validation->text() == "y: 16 of 32 elements are never written");
    CHECK_FALSE(bench.run("right", doubling).validation);
    // Poison that was read is written.
    const auto copies_poison = [](const FakeLaunch& call) {
      float* const y = call.buffer<float>(1);
      std::fill(y, y + count, std::signbit(y[0]) ? y[0] : 1.0f);
      return 1.5;
    };
    CHECK_FALSE(bench.run("copies", copies_poison).validation);
  }
}

TEST_CASE("A kernel that works every second time is wrong, for any number of launches") {
  for (const int parity : {0, 1}) {
    for (const int rep : {5, 6}) {
      Bench bench;
      bench.open.measure.rep = bench.open.measure.min_rep = rep;
      const auto alternating = working([=](int number) { return number == 0 || number % 2 == parity; });
      CHECK(bench.run("alternating", alternating).outcome == Outcome::wrong_result);
    }
  }
}

TEST_CASE("A kernel that is wrong right behind another launch only is found out where samples are taken that way") {
  Bench bench;
  bench.open.measure.flush = Flush::none;
  int looks = 0;
  bench.device.dress = [&](Sample&) { ++looks; };  // after a timed run, of several launches
  int launches_of_run = 0, looked = 0;
  bool untimed_alone = true;
  const BenchAnswer answer = bench.run("hurried", [&](const FakeLaunch& call) {
    launches_of_run = call.timed || looked != looks ? 0 : launches_of_run + 1;
    looked = looks;
    untimed_alone = untimed_alone && launches_of_run < 2;
    doubling(call);
    // The second launch of an untimed run.
    if (looks > 0 && launches_of_run >= 2) call.buffer<float>(1)[0] = -1;
    return 0.001;
  });
  CHECK_FALSE(untimed_alone);
  CHECK(answer.outcome == Outcome::wrong_result);
}

TEST_CASE("Every set of buffers is judged where launches take turns") {
  Bench bench;
  bench.open.measure.flush = Flush::rotate;
  std::vector<Buffer*> outputs;  // in the order of their first launch
  BenchSession session(bench.device, bench.open, bench.clock);
  const BenchAnswer answer = session.bench(bench.job("one set", [&](const FakeLaunch& call) {
    Buffer* const output = call.buffers[1];
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) outputs.push_back(output);
    return call.number > 3 && output == outputs.at(1) ? 0.1 : doubling(call);
  }));
  REQUIRE(outputs.size() > 3);
  CHECK(answer.outcome == Outcome::wrong_result);
}

TEST_CASE("In-place arguments are put back before the last launch, too") {
  for (const bool there : {false, true}) {
    Bench bench;
    if (there) check_there(bench);
    bench.open.arguments = {buffer("z", ArgRole::inout)};
    bench.open.reference.scalars = {};
    const auto increment = [](const FakeLaunch& call) {
      for (std::size_t i = 0; i < count; ++i) call.buffer<float>(0)[i] += 1;
      return 1.0;
    };
    bench.device.kernels[bench.open.reference.artifact.key] = increment;
    BenchSession session(bench.device, bench.open, bench.clock);
    BenchJob right = bench.job("right", increment),
             once = bench.job("once", [&](const FakeLaunch&call) { return call.number == 0 ? increment(call) : 0.1; });
    right.scalars.clear();
    once.scalars.clear();
    CHECK(session.bench(right).outcome == Outcome::ok);
    CHECK(session.bench(once).outcome == Outcome::wrong_result);
    CHECK(session.bench(right).outcome == Outcome::ok);
  }
}

TEST_CASE("An input that a measured launch overwrote is named as the cause") {
  Bench bench;
  const auto at_launch_4 = [](auto scribble) {
    return [scribble](const FakeLaunch& call) {
      doubling(call);
      if (call.number == 4) scribble(call);
      return 1.0;
    };
  };
  const BenchAnswer input =
      bench.run("input", at_launch_4([](const FakeLaunch& call) { call.buffer<float>(0)[17] = -0.5f; }));
  CHECK(input.outcome == Outcome::wrong_result);
  CHECK(input.message.starts_with("x: the kernel changed this input: [17]"));
  const BenchAnswer guard = bench.run(
      "guard", at_launch_4([](const FakeLaunch& call) { call.buffer<std::byte>(1)[count * 4] = std::byte{1}; }));
  CHECK(guard.outcome == Outcome::wrong_result);
  CHECK(guard.message.starts_with("y: the kernel wrote past the end of this buffer; the first launch was right"));
}

TEST_CASE("A loser of the race is not launched again: it answers nothing") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob job = bench.job("slow", [](const FakeLaunch& call) { return call.number == 0 ? doubling(call) : 50.0; });
  job.incumbent = Incumbent{0.1, 0.1};
  CHECK(session.bench(job).outcome == Outcome::pruned);
}

TEST_CASE("A finalist that goes wrong in the rounds is named, and the others' times stand") {
  for (const bool there : {false, true}) {
    Bench bench;
    if (there) check_there(bench);
    BenchSession session(bench.device, bench.open, bench.clock);
    RoundsJob rounds{{bench.job("right", doubling), bench.job("stops", working([](int number) { return number < 3; }))},
                     {{0, 1}, {1, 0}, {0, 1}}};
    const RoundsAnswer answer = rounds_answer_from_json(to_json(session.measure_rounds(rounds)));
    CHECK(answer.outcome == Outcome::wrong_result);
    CHECK(answer.failed == 1);
    CHECK(has(answer.message, late));
    REQUIRE(answer.samples_ms.size() == 2);
    CHECK(answer.samples_ms[0].size() == 3);
    rounds.jobs.pop_back();
    rounds.rounds = {{0}, {0}};
    CHECK(session.measure_rounds(rounds).outcome == Outcome::ok);
  }
}

TEST_CASE("If an input was overwritten in rounds, the culprit is unknown and no time counts") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  const BenchJob right = bench.job("right", doubling), wild = bench.job("wild", [](const FakeLaunch&call) {
    doubling(call);
    call.buffer<float>(0)[3] = 9;
    return 1.0;
  });
  const RoundsAnswer answer = session.measure_rounds({{right, wild}, {{0, 1}}});
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK_FALSE(answer.failed);
  CHECK(answer.samples_ms == std::vector<std::vector<double>>(2));
  CHECK(session.measure_rounds({{wild}, {{0}}}).failed == 0);
  CHECK(session.measure_rounds({{right}, {{0}}}).outcome == Outcome::ok);
}

TEST_CASE("Programs' reports in rounds are returned with the rounds' times") {
  Bench bench;
  bench.open.reference = {};
  bench.open.arguments = {{}};
  bench.device.times_itself = true;
  double next = 0;
  bench.device.dress = [&](Sample& sample) { sample.reported = {++next, -next}; };
  BenchSession session(bench.device, bench.open, bench.clock);
  const auto program = [&](const std::string& name) {
    BenchJob job = bench.job(name, [](const FakeLaunch&) { return 1.5; });
    job.launch.call.emplace();
    job.launch.call->metrics.resize(2);
    job.launch.call->metrics[0].name = "rate";
    job.launch.call->metrics[1].name = "loss";
    return job;
  };
  const RoundsJob rounds{{program("a"), program("b")}, {{0, 1}, {1, 0}}};
  const RoundsAnswer answer = rounds_answer_from_json(to_json(session.measure_rounds(rounds)));
  REQUIRE(answer.reported.size() == 2);
  CHECK(answer.reported[0] == Reported{{"rate", {1, 4}}, {"loss", {-1, -4}}});
  CHECK(answer.reported[1] == Reported{{"rate", {2, 3}}, {"loss", {-2, -3}}});
  // When programs continue, they report new values.
  CHECK(session.measure_rounds(rounds).reported[0] == Reported{{"rate", {5, 8}}, {"loss", {-5, -8}}});
}

TEST_CASE("A kernel that takes the maximum or minimum with what its output held is wrong") {
  for (const bool there : {false, true}) {
    for (const Flush flush : {Flush::none, Flush::rotate}) {
      for (const bool maximum : {false, true}) {
        CAPTURE(there);
        CAPTURE(static_cast<int>(flush));
        CAPTURE(maximum);
        Bench bench;
        bench.open.measure.flush = flush;
        if (there) check_there(bench);
        const auto accumulating = [maximum](const FakeLaunch& call) {
          std::vector<float> before(call.buffer<float>(1), call.buffer<float>(1) + count);
          doubling(call);
          float* const y = call.buffer<float>(1);
          // As fmaxf and fminf: a NaN counts as no number.
          for (std::size_t i = 0; i < count; ++i)
            y[i] = maximum ? std::fmax(before[i], y[i]) : std::fmin(before[i], y[i]);
          return 1.0;
        };
        const BenchAnswer answer = bench.run("accumulates", accumulating);
        CHECK(answer.outcome == Outcome::wrong_result);
        CHECK(has(answer.message, "what its outputs or scratch buffers hold before the launch"));
      }
    }
  }
}

TEST_CASE("What the reference leaves unwritten a kernel may leave, too, in every judged launch") {
  for (const bool there : {false, true}) {
    Bench bench;
    if (there) check_there(bench);
    const FakeKernel half = [](const FakeLaunch& call) {
      float* const y = call.buffer<float>(1);
      std::vector<float> before(y, y + count);
      doubling(call);
      std::copy(before.begin() + count / 2, before.end(), y + count / 2);
      return 1.0;
    };
    bench.device.kernels[bench.open.reference.artifact.key] = half;
    CHECK(bench.run("half", half).outcome == Outcome::ok);
  }
}

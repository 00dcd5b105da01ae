// The bench worker in a race and in rounds: launches, early ends, restored arguments, failures.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "fakes/fake_clock.hpp"
#include "fakes/fake_device.hpp"
#include "system/files.hpp"
#include "worker/bench_session.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::measure;
using namespace xtune::spec;
using namespace xtune::validate;

namespace {

using namespace xtune;
using fakes::FakeLaunch;

/// One inout buffer of four floats; a job's kernel takes the time in its name.
struct Worker {
  TemporaryDirectory folder;
  fakes::FakeDevice device;
  fakes::FakeClock clock;
  OpenJob open;

  Worker() {
    open.cache = folder.path() / "store";
    open.scratch = folder.path() / "scratch";
    ArgumentLayout layout;
    layout.name = "x";
    layout.role = ArgRole::inout;
    layout.dtype = DType::f32;
    layout.shape = {4};
    layout.fill = Fill::one;
    open.arguments = {{layout}};
    open.measure.warmup = 2;
    open.measure.rep = 12;
    open.measure.min_rep = 12;
  }
  BenchJob job(const std::string& name, fakes::FakeKernel kernel) {
    Artifact artifact;
    artifact.key = sha256(name);
    artifact.format = "bin";
    artifact.image = name;
    ArtifactCache(open.cache).insert(artifact, CompileRequest{});
    artifact.image.clear();
    device.kernels[artifact.key] = std::move(kernel);
    return {artifact, {}, {}};
  }
  BenchJob lasting(double time_ms) {
    return job(std::to_string(time_ms), [time_ms](const FakeLaunch& call) {
      CHECK(call.buffer<float>(0)[0] == 1);
      call.buffer<float>(0)[0] = 2;
      return time_ms;
    });
  }
  BenchAnswer raced(double time_ms) {
    device.launches.clear();
    BenchSession session(device, open, clock);
    BenchJob job = lasting(time_ms);
    job.incumbent = Incumbent{1.0, 1.02};
    return session.bench(bench_job_from_json(to_json(job)));
  }
};

}  // namespace

TEST_CASE("A loser is launched as often as it takes to tell, and no further") {
  Worker worker;
  struct Case {
    double time_ms;
    std::size_t samples, launches;
  };
  // What did not lose is launched twice more, to be judged again.
  for (const Case& each :
       {Case{9, 1, 2}, Case{1.8, 1, 2}, Case{1.7, 2, 3}, Case{1.64, 4, 8}, Case{1.1, 9, 13}, Case{0.9, 12, 18}}) {
    CAPTURE(each.time_ms);
    const BenchAnswer answer = worker.raced(each.time_ms);
    CHECK(answer.outcome == (each.time_ms > 1 ? Outcome::pruned : Outcome::ok));
    CHECK(answer.stage == "measure");
    CHECK(answer.samples_ms == std::vector<double>(each.samples, each.time_ms));
    CHECK(worker.device.launches.size() == each.launches);
    CHECK(worker.device.launches.front().timed);
    CHECK(worker.device.launches.front().flush_bytes == 0);
  }
}

TEST_CASE("A loser with wrong results is wrong, not slow") {
  Worker worker;
  BenchSession session(worker.device, worker.open, worker.clock);
  BenchJob job = worker.job("wild", [](const FakeLaunch& call) {
    call.buffer<float>(0)[4] = 7;
    return 50.0;
  });
  job.incumbent = Incumbent{1.0, 1.0};
  CHECK(session.bench(job).outcome == Outcome::wrong_result);
  CHECK(worker.device.launches.size() == 1);
}

TEST_CASE("Rounds launch all of them in the order asked for, each with its arguments restored") {
  Worker worker;
  BenchSession session(worker.device, worker.open, worker.clock);
  RoundsJob job{{worker.lasting(1), worker.lasting(2), worker.lasting(3)}, {{2, 0, 1}, {1, 2, 0}, {0, 1}}};
  const RoundsAnswer answer =
      rounds_answer_from_json(to_json(session.measure_rounds(rounds_job_from_json(to_json(job)))));
  CHECK(answer.outcome == Outcome::ok);
  CHECK_FALSE(answer.failed);
  CHECK(answer.samples_ms == std::vector<std::vector<double>>{{1, 1, 1}, {2, 2, 2}, {3, 3}});
  std::string order;
  for (const FakeLaunch& launch : worker.device.launches)
    for (std::size_t i = 0; i < 3; ++i)
      if (launch.key == job.jobs[i].artifact.key) order += (launch.timed ? "" : "w") + std::to_string(i);
  CHECK(order ==
        "012"
        "201"
        "120"
        "01"
        "w0w1w2");  // to be judged again
  for (const FakeLaunch& launch : worker.device.launches) CHECK((launch.flush_bytes > 0) == launch.timed);
}

TEST_CASE("Rounds that go on find their configurations loaded and warm; a measurement between them ends that") {
  Worker worker;
  BenchSession session(worker.device, worker.open, worker.clock);
  const BenchJob one = worker.lasting(1), two = worker.lasting(2), three = worker.lasting(3);
  const auto launches_of = [&](const RoundsJob& job) {
    worker.device.launches.clear();
    CHECK(session.measure_rounds(job).outcome == Outcome::ok);
    return worker.device.launches.size();
  };
  CHECK(launches_of({{one, two, three}, {{0, 1, 2}}}) == 6 + 3);
  CHECK(launches_of({{three, one}, {{0, 1}, {1, 0}}}) == 4 + 2);
  CHECK(launches_of({{one, two}, {{0, 1}}}) == 3 + 2);  // two had left
  CHECK(session.bench(three).outcome == Outcome::ok);
  CHECK(launches_of({{one, two}, {{0, 1}}}) == 4 + 2);
  CHECK(launches_of({{one, one}, {{0, 1}}}) == 3 + 2);
}

TEST_CASE("A configuration that fails in a round is named, and the round does not count") {
  Worker worker;
  BenchSession session(worker.device, worker.open, worker.clock);
  const BenchJob bad = worker.job("bad", [](const FakeLaunch& call) {
    if (call.number >= 2) throw CandidateFailure(Outcome::crashed, "illegal access", "the log");
    return 4.0;
  });
  const RoundsAnswer answer = session.measure_rounds({{worker.lasting(1), bad}, {{0, 1}, {0, 1}, {0, 1}}});
  CHECK(answer.outcome == Outcome::crashed);
  CHECK(answer.failed == 1);
  CHECK(answer.message == "illegal access");
  CHECK(answer.samples_ms == std::vector<std::vector<double>>{{1}, {4}});
}

TEST_CASE("A round with an unknown job is not a valid message") {
  Worker worker;
  const RoundsJob job{{worker.lasting(1)}, {{0, 1}}};
  CHECK_THROWS_AS(rounds_job_from_json(to_json(job)), Error);
}

TEST_CASE("A CPU counts as at least as rough as other processes may make it") {
  Worker worker;
  worker.device.device_info.vendor = "cpu";
  CHECK(worker.raced(2.6).samples_ms.size() == 1);
  CHECK(worker.raced(2.5).samples_ms.size() == 2);
  CHECK(worker.raced(1.8).samples_ms.size() == 9);
}

// References of a trial: a kernel, a builtin, a command or a file, computed once.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <vector>

#include "bench_fixture.hpp"
#include "core/validate/npy.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::base;
using namespace xtune::build;
using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;
using namespace xtune::validate;

namespace {

using namespace xtune;
using namespace xtune::fakes;

}  // namespace

TEST_CASE("The reference runs once; a second session reads it from the scratch directory") {
  Bench bench;
  CHECK(bench.run("one", doubling).outcome == Outcome::ok);
  CHECK(bench.reference_runs == 1);
  CHECK(bench.run("two", doubling).outcome == Outcome::ok);
  CHECK(bench.reference_runs == 1);
  CHECK(bench
            .run("wrong",
                 [](const FakeLaunch& call) {
                   doubling(call);
                   call.buffer<float>(1)[0] += 1;
                   return 1.0;
                 })
            .outcome == Outcome::wrong_result);
  CHECK(bench.reference_runs == 1);
}

TEST_CASE("A reference that was left half written is computed again") {
  Bench bench;
  CHECK(bench.run("one", doubling).outcome == Outcome::ok);
  std::filesystem::remove(bench.open.scratch / "expected-complete");
  std::ofstream(bench.open.scratch / "expected-1") << "torn";
  CHECK(bench.run("two", doubling).outcome == Outcome::ok);
  CHECK(bench.reference_runs == 2);
}

TEST_CASE("A reference kernel that fails or writes out of bounds is the spec's fault") {
  const auto error_of = [](Bench& bench) {
    try {
      BenchSession session(bench.device, bench.open, bench.clock);
      session.prepare_reference();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_spec);
      CHECK(std::string(error.what()).starts_with("k.toml:9:1: "));
      return std::string(error.what());
    }
    return std::string();
  };
  Bench bench;
  bench.open.reference.at = "k.toml:9:1";
  const std::string key = bench.open.reference.artifact.key;
  bench.device.kernels[key] = [](const FakeLaunch&) -> double {
    throw CandidateFailure(Outcome::launch_failed, "too many resources");
  };
  CHECK(error_of(bench).find("too many resources") != std::string::npos);
  bench.device.kernels[key] = [](const FakeLaunch& call) {
    call.buffer<float>(1)[count] = 1;
    return 1.0;
  };
  CHECK(error_of(bench).find("past the end of y") != std::string::npos);
}

TEST_CASE("Without a reference anything but a broken guard passes") {
  Bench bench;
  bench.open.reference = {};
  const BenchAnswer answer = bench.run("anything", [](const FakeLaunch&) { return 2.0; });
  CHECK(answer.outcome == Outcome::ok);
  REQUIRE(answer.validation);
  CHECK(answer.validation->unwritten == count);
}

TEST_CASE("A reference kernel that reads integers outside of its arguments is refused, though none is NaN") {
  Bench bench;
  for (ArgumentPlan& plan : bench.open.arguments)
    if (plan.buffer) plan.buffer->dtype = DType::i32;
  const auto shifted = [](std::size_t by) {
    return [by](const FakeLaunch& call) {
      for (std::size_t i = 0; i < count; ++i) call.buffer<std::int32_t>(1)[i] = call.buffer<std::int32_t>(0)[i + by];
      return 1.0;
    };
  };
  bench.device.kernels[bench.open.reference.artifact.key] = shifted(1);
  const auto refused = [&] {
    try {
      bench.run("same", shifted(1));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused().find("reads outside of its arguments for 1 of 32 elements of output 'y'") != std::string::npos);
  bench.device.kernels[bench.open.reference.artifact.key] = shifted(0);
  CHECK(bench.run("right", shifted(0)).outcome == Outcome::ok);
  // Launches that differ in any case show nothing.
  int launches = 0;
  std::filesystem::remove(bench.open.scratch / "expected-complete");
  bench.device.kernels[bench.open.reference.artifact.key] = [&](const FakeLaunch& call) {
    std::fill_n(call.buffer<std::int32_t>(1), count, ++launches);
    return 1.0;
  };
  CHECK(refused().empty());
}

TEST_CASE("A builtin reference computes from the same inputs; its arguments are checked") {
  Bench bench;
  bench.open.reference = {};
  bench.open.reference.kind = ReferenceSpec::Kind::builtin;
  bench.open.reference.name = "transpose";
  bench.open.reference.arrays = {{"x", "x"}};
  for (ArgumentPlan& plan : bench.open.arguments)
    if (plan.buffer)
      plan.buffer->shape =
          plan.buffer->role == ArgRole::in ? std::vector<std::uint64_t>{4, 8} : std::vector<std::uint64_t>{8, 4};
  const auto transpose = [](const FakeLaunch& call) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j) call.buffer<float>(1)[j * 4 + i] = call.buffer<float>(0)[i * 8 + j];
    return 1.0;
  };
  CHECK(bench.run("transpose", transpose).outcome == Outcome::ok);
  CHECK(bench.run("doubling", doubling).outcome == Outcome::wrong_result);
  bench.open.reference.at = "k.toml:9:13";
  bench.open.reference.arrays = {{"x", "nothing"}};
  std::filesystem::remove(bench.open.scratch / "expected-complete");
  const auto complaint = [&] {
    std::filesystem::remove(bench.open.scratch / "expected-complete");
    try {
      bench.run("transpose", transpose);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_spec);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(complaint().starts_with("k.toml:9:13: the reference's x = 'nothing'"));
  bench.open.reference.arrays = {{"x", "x"}};
  bench.open.arguments[0].buffer->shape = {32};
  CHECK(complaint().starts_with("k.toml:9:13: reference builtin transpose: x is f32[32]"));
}

TEST_CASE("A reference command computes from the same inputs, once") {
  Bench bench;
  bench.open.reference = {};
  bench.open.reference.kind = ReferenceSpec::Kind::command;
  bench.open.reference.command = {"/bin/sh", "-c", "cp $XTUNE_INPUTS/x.npy $XTUNE_OUTPUTS/y.npy; echo run >> runs"};
  bench.open.reference.folder = bench.folder.path();
  bench.open.reference.at = "k.toml:9:13";
  const auto copy = [](const FakeLaunch& call) {
    std::copy_n(call.buffer<float>(0), count, call.buffer<float>(1));
    return 1.0;
  };
  CHECK(bench.run("copy", copy).outcome == Outcome::ok);
  CHECK(bench.run("doubling", doubling).outcome == Outcome::wrong_result);
  CHECK(read_file(bench.folder.path() / "runs") == "run\n");
  bench.open.reference.command = {"/bin/sh", "-c", "exit 4"};
  std::filesystem::remove(bench.open.scratch / "expected-complete");
  CHECK_THROWS_WITH_AS(bench.run("copy", copy),
                       "k.toml:9:13: the reference command '/bin/sh -c exit 4' ended with exit code 4", Error);
}

TEST_CASE("A file of another shape or type is refused at the place of the argument, or of the reference") {
  Bench bench;
  const std::filesystem::path file = bench.folder.path() / "x.npy";
  write_npy(file, {DType::f32, {count + 1}, std::vector<std::byte>(4 * (count + 1))});
  const auto complaint = [&] {
    try {
      bench.run("doubling", doubling);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_spec);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  bench.open.arguments[0].buffer->file = file;
  bench.open.arguments[0].buffer->at = "k.toml:20:1";
  CHECK(complaint().starts_with("k.toml:20:1: " + file.string() + " holds f32[33], but argument 'x' is f32[32]"));
  bench.open.arguments[0].buffer->file.clear();
  bench.open.reference = {};
  bench.open.reference.kind = ReferenceSpec::Kind::file;
  bench.open.reference.file = file;
  bench.open.reference.at = "k.toml:9:13";
  CHECK(complaint().starts_with("k.toml:9:13: " + file.string() + " holds f32[33]"));
}

TEST_CASE("A reference whose artifact the store has lost is named as such, so that it can be compiled again") {
  xtune::fakes::Bench bench;
  bench.open.reference.at = "k.toml:9:13";
  bench.open.reference.artifact.key = std::string(64, 'c');
  xtune::worker::BenchSession session(bench.device, bench.open, bench.clock);
  CHECK_THROWS_AS(session.prepare_reference(), xtune::worker::MissingArtifact);
}

TEST_CASE("A reference kernel is timed once, as a configuration is, if that is asked for") {
  Bench bench;
  const auto times = [&] {
    BenchSession session(bench.device, bench.open, bench.clock);
    session.prepare_reference();
    session.prepare_reference();
    return session.reference_findings().samples_ms;
  };
  CHECK(times().empty());
  CHECK(bench.reference_runs == 1);
  std::filesystem::remove_all(bench.open.scratch);
  std::filesystem::create_directories(bench.open.scratch);
  bench.open.time_reference = true;
  CHECK(times() == std::vector<double>(5, 1.5));
  CHECK(bench.reference_runs > 6);
  // A later worker reads the outputs, and has nothing to time.
  const int runs = bench.reference_runs;
  CHECK(times().empty());
  CHECK(bench.reference_runs == runs);
  // Rounds may ask for it again, as the machine may have changed its speed.
  BenchSession session(bench.device, bench.open, bench.clock);
  run::RoundsJob rounds{{bench.job("one", doubling)}, {{0}, {0}}};
  CHECK(session.measure_rounds(rounds).reference_ms.empty());
  rounds.time_reference = true;
  const run::RoundsAnswer answer = session.measure_rounds(rounds);
  CHECK(answer.outcome == Outcome::ok);
  CHECK(answer.reference_ms == std::vector<double>(5, 1.5));
  // The configurations are judged and measured as ever.
  CHECK(bench.run("one", doubling).outcome == Outcome::ok);
}

TEST_CASE("A slow reference has one sample") {
  Bench bench;
  bench.open.time_reference = true;
  bench.device.kernels[bench.open.reference.artifact.key] = [&](const FakeLaunch& call) {
    ++bench.reference_runs;
    doubling(call);
    return 2000.0;
  };
  BenchSession session(bench.device, bench.open, bench.clock);
  session.prepare_reference();
  CHECK(session.reference_findings().samples_ms == std::vector<double>{2000});
  CHECK(bench.reference_runs == 2);
}

TEST_CASE("A reference that fails while it is timed has no time, and there is a warning") {
  Bench bench;
  bench.open.time_reference = true;
  bench.device.kernels[bench.open.reference.artifact.key] = [&](const FakeLaunch& call) -> double {
    if (++bench.reference_runs > 1) throw CandidateFailure(Outcome::launch_failed, "once is enough");
    return doubling(call);
  };
  BenchSession session(bench.device, bench.open, bench.clock);
  session.prepare_reference();
  CHECK(session.reference_findings().samples_ms.empty());
  REQUIRE(session.reference_findings().warnings.size() == 1);
  CHECK(session.reference_findings().warnings.front().find("once is enough") != std::string::npos);
  CHECK(session.bench(bench.job("one", doubling)).outcome == Outcome::ok);
}

TEST_CASE("A reference that rotates through sets of buffers is timed with the inputs in each of them") {
  Bench bench;
  bench.open.time_reference = true;
  bench.open.measure.flush = Flush::rotate;
  std::vector<float> first;
  std::set<const float*> places;
  int different = 0;
  bench.device.kernels[bench.open.reference.artifact.key] = [&](const FakeLaunch& call) {
    const float* const x = call.buffer<float>(0);
    if (first.empty()) first.assign(x, x + count);
    different += !std::equal(first.begin(), first.end(), x);
    places.insert(x);
    return doubling(call);
  };
  BenchSession session(bench.device, bench.open, bench.clock);
  session.prepare_reference();
  CHECK(session.reference_findings().samples_ms.size() == 5);
  CHECK(places.size() > 1);
  CHECK(different == 0);
  CHECK(session.bench(bench.job("one", doubling)).outcome == Outcome::ok);
}

TEST_CASE("A device that is lost while the reference is timed ends the session, and no configuration is to blame") {
  Bench bench;
  bench.open.time_reference = true;
  bench.device.kernels[bench.open.reference.artifact.key] = [&](const FakeLaunch& call) -> double {
    if (++bench.reference_runs > 1) throw CandidateFailure(Outcome::crashed, "an illegal address");
    return doubling(call);
  };
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK_THROWS_WITH_AS(session.prepare_reference(), doctest::Contains("an illegal address"), Error);
}

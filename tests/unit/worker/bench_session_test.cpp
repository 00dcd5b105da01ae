// Tests of the trial of one configuration: poison, restored inputs, verdicts, rotation, telemetry.
#include "worker/bench_session.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "bench_fixture.hpp"

using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::measure;
using namespace xtune::spec;
using namespace xtune::validate;

namespace {

using namespace xtune;
using namespace xtune::fakes;

}  // namespace

TEST_CASE("A right kernel is validated, warmed up and measured with a cold cache") {
  Bench bench;
  const BenchAnswer answer = bench.run("right", doubling);
  CHECK(answer.outcome == Outcome::ok);
  CHECK(answer.samples_ms == std::vector<double>(5, 1.5));
  REQUIRE(answer.validation.has_value());
  CHECK(answer.validation->passed);
  CHECK(answer.validation->count == count);
  // The reference, the validation, two warm-ups, five samples, and two launches that are judged again.
  REQUIRE(bench.device.launches.size() == 1 + 1 + 2 + 5 + 2);
  for (std::size_t i = 0; i < bench.device.launches.size(); ++i) {
    const bool timed = i >= 3 && i < 9;  // the last warm-up determines the length of a launch
    CHECK(bench.device.launches[i].timed == (timed || i == 1));
    CHECK(bench.device.launches[i].flush_bytes == (timed ? std::size_t{12} << 20 : 0));
  }
}

TEST_CASE("A slow kernel has as many samples as fit the time limit, and the first launch counts if no other does") {
  struct Case {
    double launch_s;
    std::size_t samples, launches;  ///< launches: with the first one, and the last ones that are judged
  };
  for (const Case& each : {Case{1, 5, 1 + 2 + 5 + 2}, Case{3.5, 5, 1 + 5 + 2}, Case{8, 1, 1 + 1 + 1}, Case{20, 1, 1}}) {
    CAPTURE(each.launch_s);
    Bench bench;
    const BenchAnswer answer = bench.run("slow", [&](const FakeLaunch& call) {
      bench.clock.advance_s(each.launch_s);
      return doubling(call), each.launch_s * 1e3;
    });
    CHECK(answer.outcome == Outcome::ok);
    CHECK(answer.samples_ms == std::vector<double>(each.samples, each.launch_s * 1e3));
    CHECK(bench.device.launches.size() == 1 + each.launches);  // and the reference
    CHECK(answer.busy_s < bench.open.measure.timeout_s);
  }
}

TEST_CASE("A kernel that ends after its time limit has timed out, also where its worker was not killed") {
  for (const double launch_s : {28.0, 40.0}) {
    Bench bench;
    BenchSession session(bench.device, bench.open, bench.clock);
    BenchAnswer answer = session.bench(bench.job("slow", [&](const FakeLaunch& call) {
      bench.clock.advance_s(launch_s);
      return doubling(call), launch_s * 1e3;
    }));
    CHECK(answer.outcome == Outcome::ok);  // in an application's own process there is no limit
    session.refuse_late(answer);
    CHECK(answer.outcome == (launch_s < 30 ? Outcome::ok : Outcome::timed_out));
    CHECK(answer.samples_ms.size() == (launch_s < 30 ? 1 : 0));
    CHECK((launch_s < 30 || answer.message.starts_with("its launches and checks took longer than 30 s")));
  }
}

TEST_CASE("Rounds of slow kernels end where another round does not fit the time limit of each") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  const auto slow = [&](const FakeLaunch& call) {
    bench.clock.advance_s(6);
    return doubling(call);
  };
  RoundsJob job{{bench.job("a", slow), bench.job("b", slow)}, std::vector<std::vector<std::size_t>>(10, {0, 1})};
  const RoundsAnswer answer = session.measure_rounds(job);
  CHECK(answer.outcome == Outcome::ok);
  CHECK(answer.samples_ms == std::vector<std::vector<double>>(2, std::vector<double>(2, 1.5)));
  CHECK(answer.busy_s < 2 * bench.open.measure.timeout_s);
}

TEST_CASE("Outputs that a kernel leaves unwritten are detected, also when an earlier configuration wrote them right") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(bench.job("right", doubling)).outcome == Outcome::ok);
  const BenchAnswer lazy = session.bench(bench.job("lazy", [](const FakeLaunch&) { return 0.001; }));
  CHECK(lazy.outcome == Outcome::wrong_result);
  REQUIRE(lazy.validation.has_value());
  CHECK(lazy.validation->unwritten == count);
  const BenchAnswer short_one = session.bench(bench.job("short", [](const FakeLaunch& call) {
    FakeLaunch fewer = call;
    fewer.scalars[0] = Bench::number(count - 1);
    return doubling(fewer);
  }));
  CHECK(short_one.outcome == Outcome::wrong_result);
  REQUIRE(short_one.validation.has_value());
  CHECK(short_one.validation->unwritten == 1);
  CHECK(short_one.validation->first_index == count - 1);
}

TEST_CASE("NaN never passes, with any tolerance") {
  Bench bench;
  bench.open.tolerances = {{"y", {1e30, 1e30, 1.0}}};
  const BenchAnswer answer = bench.run("nan", [](const FakeLaunch& call) {
    doubling(call);
    call.buffer<float>(1)[3] = std::numeric_limits<float>::quiet_NaN();
    return 1.0;
  });
  CHECK(answer.outcome == Outcome::wrong_result);
  REQUIRE(answer.validation.has_value());
  CHECK(answer.validation->nans == 1);
  CHECK(answer.message.find("nan") != std::string::npos);
}

TEST_CASE("The given tolerance decides, not the default") {
  const auto off_by_a_tenth = [](const FakeLaunch& call) {
    doubling(call);
    for (std::size_t i = 0; i < count; ++i) call.buffer<float>(1)[i] += 0.1f;
    return 1.0;
  };
  Bench bench;
  CHECK(bench.run("off", off_by_a_tenth).outcome == Outcome::wrong_result);
  bench.open.tolerances = {{"y", {0, 0.2, 0}}};
  CHECK(bench.run("off", off_by_a_tenth).outcome == Outcome::ok);
}

TEST_CASE("A configuration that scribbles over its inputs harms none but itself") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  const auto scribble = [](const FakeLaunch& call) {
    std::fill_n(call.buffer<float>(0), count, 1e9f);
    doubling(call);
    return 0.5;
  };
  const auto late = [](const FakeLaunch& call) {
    doubling(call);
    call.buffer<float>(0)[17] = 0.5f;
    return 0.5;
  };
  CHECK(session.bench(bench.job("scribble", scribble)).outcome == Outcome::wrong_result);
  CHECK(session.bench(bench.job("right", doubling)).outcome == Outcome::ok);
  // Also when it spares the validating launch, or writes after it has computed.
  const auto sly = [&](const FakeLaunch& call) { return call.number == 0 ? doubling(call) : scribble(call); };
  const BenchAnswer answer = session.bench(bench.job("sly", sly));
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.samples_ms.empty());
  CHECK(session.bench(bench.job("late", late)).outcome == Outcome::wrong_result);
  CHECK(session.bench(bench.job("again", doubling)).outcome == Outcome::ok);
}

TEST_CASE("An input that was changed is named, with the place, whatever the outputs are") {
  Bench bench;
  bench.open.arguments[0].buffer->dtype = DType::f64;  // its bits are compared, not its values
  bench.open.arguments[0].buffer->shape = {2, count / 4};
  bench.open.arguments[0].buffer->fill = Fill::zero;
  bench.open.reference = {};
  const BenchAnswer answer = bench.run("changes", [](const FakeLaunch& call) {
    call.buffer<double>(0)[9] = -0.0;
    return 1.0;
  });
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.message ==
        "x: the kernel changed this input: [1, 1] was 0 and is -0, and 1 of 16 elements differ; if it is meant to, the "
        "argument's role is \"inout\" (in Python xtune.InOut)");
  CHECK(bench.run("does not", [](const FakeLaunch&) { return 1.0; }).outcome == Outcome::ok);
}

TEST_CASE("Inputs that were found intact are not written again") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(bench.job("first", doubling)).outcome == Outcome::ok);
  const std::size_t guards = 2 * 2 * guard_bytes;  // are written for every configuration
  bench.device.written_bytes = 0;
  CHECK(session.bench(bench.job("second", doubling)).outcome == Outcome::ok);
  CHECK(bench.device.written_bytes == guards);
  // A configuration that ended early was not compared.
  CHECK(session.bench(bench.job("lazy", [](const FakeLaunch&) { return 1.0; })).outcome == Outcome::wrong_result);
  bench.device.written_bytes = 0;
  CHECK(session.bench(bench.job("third", doubling)).outcome == Outcome::ok);
  CHECK(bench.device.written_bytes == guards + count * sizeof(float));
}

TEST_CASE("Repeated runs that give other bits are wrong, however near the values") {
  Bench bench;
  bench.open.repeats = 3;
  int runs = 0;
  const auto racy_from = [&](int first) {
    return [&runs, first](const FakeLaunch& call) {
      ++runs;
      doubling(call);
      if (call.number >= first) call.buffer<float>(1)[5] = std::nextafter(call.buffer<float>(1)[5], 9.0f);
      return 1.0;
    };
  };
  const BenchAnswer answer = bench.run("racy", racy_from(3));
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.stage == "validate");
  CHECK(answer.message.starts_with("y: launch 4 on the same inputs gave other bits than launch 1: [5] was "));
  CHECK(answer.message.find("and 1 of 32 elements differ: a race, or sums whose order") != std::string::npos);
  CHECK(runs == 4);
  REQUIRE(answer.repeatable.has_value());
  CHECK(answer.repeatable->launches == 4);
  const BenchAnswer late = bench.run("racy while measured", racy_from(4));
  CHECK(late.outcome == Outcome::wrong_result);
  CHECK(late.message.starts_with("y: launch 5 on the same inputs"));
  bench.open.reference = {};
  CHECK(bench.run("racy, no reference", racy_from(1)).outcome == Outcome::wrong_result);
  bench.open.repeats = 0;
  CHECK(bench.run("not asked for", racy_from(1)).outcome == Outcome::ok);
}

TEST_CASE("Whether launches repeat can be recorded, without consequences") {
  Bench bench;
  bench.open.repeats = 2;
  bench.open.must_repeat = false;
  const BenchAnswer steady = bench.run("steady", doubling);
  CHECK(steady.outcome == Outcome::ok);
  REQUIRE(steady.repeatable.has_value());
  CHECK(steady.repeatable->same());
  CHECK(steady.repeatable->launches == 4);  // the first, two more, and one after the measured ones
  const BenchAnswer racy = bench.run("racy", [](const FakeLaunch& call) {
    doubling(call);
    for (std::size_t i = 7; call.number > 1 && i < 10; ++i)
      call.buffer<float>(1)[i] = std::nextafter(call.buffer<float>(1)[i], 9.0f);
    return 1.0;
  });
  CHECK(racy.outcome == Outcome::ok);
  CHECK(racy.message.empty());
  CHECK_FALSE(racy.samples_ms.empty());
  REQUIRE(racy.repeatable.has_value());
  REQUIRE(racy.repeatable->difference.has_value());
  CHECK(racy.repeatable->launches == 3);
  CHECK(racy.repeatable->difference->argument == "y");
  CHECK(racy.repeatable->difference->coordinates == std::vector<std::uint64_t>{7});
  CHECK(racy.repeatable->difference->differing == 3);
  CHECK(racy.repeatable->difference->count == 32);
  bench.open.repeats = 0;
  CHECK_FALSE(bench.run("not compared", doubling).repeatable.has_value());
}

TEST_CASE("A kernel that changes its input is not blamed for other outputs") {
  Bench bench;
  bench.open.repeats = 1;
  bench.open.reference = {};
  const BenchAnswer answer = bench.run("overwrites", [](const FakeLaunch& call) {
    doubling(call);
    call.buffer<float>(0)[3] += 1;
    return 1.0;
  });
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.message.starts_with("x: the kernel changed this input: [3] was "));
}

TEST_CASE("Launches in a graph need a device that has graphs") {
  Bench bench;
  bench.open.measure.launch = spec::LaunchBy::graph;
  bench.device.device_info.backend = "host";
  try {
    BenchSession(bench.device, bench.open, bench.clock);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    CHECK(std::string(error.what()) ==
          "[measure] launch = \"graph\": only the cuda and hip backends launch graphs, and this is host; remove it, or "
          "set \"stream\"");
  }
}

TEST_CASE("Every repeated run starts from the same contents") {
  Bench bench;
  bench.open.repeats = 2;
  bench.open.arguments = {buffer("z", ArgRole::inout)};
  bench.open.reference = {};
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob job = bench.job("increment", [](const FakeLaunch& call) {
    for (std::size_t i = 0; i < count; ++i) call.buffer<float>(0)[i] += 1;
    return 1.0;
  });
  job.scalars.clear();
  CHECK(session.bench(job).outcome == Outcome::ok);
}

TEST_CASE("Tolerances follow the reduction length and the data's scale, unless the spec gives them") {
  Bench bench;
  const auto off_by = [](float relative) {
    return [relative](const FakeLaunch& call) {
      doubling(call);
      for (std::size_t i = 0; i < count; ++i) call.buffer<float>(1)[i] *= 1 + relative;
      return 1.0;
    };
  };
  bench.open.tolerances = {{"y", {}}};
  bench.open.tolerances[0].second.reduction = 4;
  CHECK(bench.run("a little", off_by(5e-7f)).outcome == Outcome::ok);
  const BenchAnswer answer = bench.run("more", off_by(5e-6f));
  CHECK(answer.outcome == Outcome::wrong_result);
  REQUIRE(answer.validation.has_value());
  CHECK(answer.validation->tolerance.rtol == doctest::Approx(18 * 0x1p-24));
  bench.open.tolerances[0].second.reduction = 4096;
  CHECK(bench.run("more", off_by(5e-6f)).outcome == Outcome::ok);
}

TEST_CASE("In-place arguments are restored before every launch and compared with the reference") {
  Bench bench;
  bench.open.arguments = {buffer("z", ArgRole::inout)};
  bench.open.reference.scalars.clear();
  std::vector<float> first_seen;
  const auto increment = [&](const FakeLaunch& call) {
    first_seen.push_back(call.buffer<float>(0)[0]);
    for (std::size_t i = 0; i < count; ++i) call.buffer<float>(0)[i] += 1;
    return 1.0;
  };
  bench.device.kernels[bench.open.reference.artifact.key] = increment;
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob job = bench.job("increment", increment);
  job.scalars.clear();
  const BenchAnswer answer = session.bench(job);
  CHECK(answer.outcome == Outcome::ok);
  REQUIRE(answer.validation.has_value());
  CHECK(answer.validation->output == "z");
  REQUIRE(first_seen.size() == 1 + 1 + 2 + 5 + 2);
  for (const float value : first_seen) CHECK(value == first_seen[0]);
}

TEST_CASE("Rotation launches on several argument sets instead of flushing") {
  Bench bench;
  bench.open.measure.flush = Flush::rotate;
  bench.open.measure.rep = bench.open.measure.min_rep = 80;
  bench.device.device_info.l2_bytes = 0;  // unknown: 4 MiB are assumed
  for (ArgumentPlan& plan : bench.open.arguments)
    if (plan.buffer) plan.buffer->shape = {std::uint64_t{1} << 18};
  std::set<void*> outputs;
  const auto whole = [&](const FakeLaunch& call) {
    CHECK(call.flush_bytes == 0);
    outputs.insert(call.buffers[1]->address());
    FakeLaunch all = call;
    all.scalars[0] = Bench::number(1 << 18);
    return doubling(all);
  };
  bench.device.kernels[bench.open.reference.artifact.key] = whole;
  CHECK(bench.run("short", doubling).outcome == Outcome::wrong_result);  // it writes the first elements only
  CHECK(bench.run("whole", whole).outcome == Outcome::ok);
  // Two buffers of 1 MiB a set: more than three times 4 MiB altogether.
  CHECK(outputs.size() >= 7);
}

TEST_CASE("Rotation that the memory cannot hold flushes as well") {
  Bench bench;
  bench.open.measure.flush = Flush::rotate;
  for (ArgumentPlan& plan : bench.open.arguments)
    if (plan.buffer) plan.buffer->shape = {std::uint64_t{1} << 18};
  bench.device.device_info.memory_bytes = 20'000'000;
  std::set<void*> outputs;
  std::size_t flushed = 0;
  const auto whole = [&](const FakeLaunch& call) {
    outputs.insert(call.buffers[1]->address());
    flushed = call.timed ? call.flush_bytes : flushed;
    FakeLaunch all = call;
    all.scalars[0] = Bench::number(1 << 18);
    return doubling(all);
  };
  bench.device.kernels[bench.open.reference.artifact.key] = whole;
  CHECK(bench.run("right", whole).outcome == Outcome::ok);
  CHECK(outputs.size() == 3);
  CHECK(flushed > 0);
}

TEST_CASE("A failure of the configuration is an answer with its outcome and stage") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob job = bench.job("unloadable", doubling);
  bench.device.load_failures.emplace(job.artifact.key, CandidateFailure(Outcome::rejected, "too much shared memory"));
  BenchAnswer answer = session.bench(job);
  CHECK(answer.outcome == Outcome::rejected);
  CHECK(answer.stage == "load");
  CHECK(answer.message == "too much shared memory");

  const auto failing_at = [](int launch, Outcome outcome) {
    return [=](const FakeLaunch& call) {
      if (call.number == launch) throw CandidateFailure(outcome, "it broke", "the long story");
      return doubling(call);
    };
  };
  answer = session.bench(bench.job("at once", failing_at(0, Outcome::launch_failed)));
  CHECK(answer.outcome == Outcome::launch_failed);
  CHECK(answer.stage == "run");
  CHECK(answer.log == "the long story");
  answer = session.bench(bench.job("in the warm-up", failing_at(1, Outcome::crashed)));
  CHECK(answer.outcome == Outcome::crashed);
  CHECK(answer.stage == "measure");
  answer = session.bench(bench.job("in a sample", failing_at(5, Outcome::crashed)));
  CHECK(answer.outcome == Outcome::crashed);
  CHECK(answer.stage == "measure");
  CHECK(answer.samples_ms.empty());
}

TEST_CASE("Time on the device is counted from load to the last sample") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  const auto slow = [&](const FakeLaunch& call) {
    bench.clock.advance_s(0.5);
    return doubling(call);
  };
  CHECK(session.bench(bench.job("slow", slow)).busy_s == doctest::Approx(0.5 * (1 + 2 + 5 + 2)));
}

TEST_CASE("A missing or damaged artifact is an error that says what to do") {
  Bench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  const auto kind_of = [&](const BenchJob& job) {
    try {
      session.bench(job);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("run again") != std::string::npos);
      return error.kind();
    }
    return ErrorKind::interrupted;
  };
  BenchJob missing{{{}, {}, {Bench::number(count)}}};
  missing.artifact.key = std::string(64, 'f');
  CHECK(kind_of(missing) == ErrorKind::io);
  const BenchJob damaged = bench.job("damaged", doubling);
  const auto image = ArtifactCache(bench.open.cache).image_path(damaged.artifact);
  std::filesystem::permissions(image, std::filesystem::perms::owner_all);
  std::ofstream(image) << "image 0f damaged";
  CHECK(kind_of(damaged) == ErrorKind::io);
}

TEST_CASE("A disturbance of the device taints the answer, and its state is in the telemetry") {
  Bench bench;
  bench.open.measure.wait_s = 0;
  DeviceState state;
  state.temperature_c = 45;
  state.power_w = 120;
  state.max_clock_mhz = 2000;
  int looks = 0;
  bench.device.device_state = [&] { return ++looks, state; };
  bench.device.dress = [](Sample& sample) { sample.clock_mhz = 1990; };
  BenchSession session(bench.device, bench.open, bench.clock);
  const auto slow = [&](const FakeLaunch& call) {
    bench.clock.advance_s(0.1);
    return doubling(call);
  };
  BenchAnswer answer = session.bench(bench.job("quiet", slow));
  CHECK(answer.taints.empty());
  CHECK(answer.telemetry.temperature_c == 45);
  CHECK(answer.telemetry.power_w == 120);
  CHECK(answer.telemetry.clock_mhz == 1990);
  CHECK(answer.telemetry.energy_j == 0);
  CHECK(looks == 2);
  bench.device.dress = [](Sample& sample) { sample.clock_mhz = 900; };
  state.processes = {1, 2};
  CHECK(session.bench(bench.job("disturbed", slow)).taints ==
        std::vector<std::string>{"other processes compute on the device", "the clock was 900 MHz of 2000"});
  // A wrong result was not measured: nothing to taint.
  CHECK(session.bench(bench.job("lazy", [](const FakeLaunch&) { return 0.1; })).taints.empty());
}

TEST_CASE("Configurations in quick succession share a look at the device") {
  Bench bench;
  int looks = 0;
  bench.device.device_state = [&] { return ++looks, DeviceState(); };
  BenchSession session(bench.device, bench.open, bench.clock);
  for (const char* name : {"a", "b", "c"}) session.bench(bench.job(name, doubling));
  CHECK(looks == 1);
  bench.clock.advance_s(0.2);
  session.bench(bench.job("d", doubling));
  CHECK(looks == 2);
}

TEST_CASE("On a CPU each configuration is tainted by what was taken from it, and by nothing else") {
  Bench bench;
  bench.device.device_info.vendor = "cpu";
  double lost = 0;
  bench.device.device_state = [&] {
    DeviceState state;
    state.lost_share = std::exchange(lost, 0);  // since the last look
    return state;
  };
  const auto disturbed = [&](const FakeLaunch& call) { return lost = 0.4, doubling(call); };
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(bench.job("a", doubling)).taints.empty());
  CHECK(session.bench(bench.job("b", disturbed)).taints ==
        std::vector<std::string>{"the CPUs were busy: the kernel waited for more than 5 % of its time"});
  CHECK(session.bench(bench.job("c", doubling)).taints.empty());
  RoundsJob rounds{{bench.job("d", doubling), bench.job("e", disturbed)}, {{0, 1}, {1, 0}}};
  CHECK(session.measure_rounds(rounds).taints.size() == 1);
}

TEST_CASE("Energy is the counter's difference over many launches, where it is asked for and counted") {
  Bench bench;
  bench.open.measure.energy_ms = 500;
  double joules = 1000;
  bool counts = true;
  bench.device.device_state = [&] {
    DeviceState state;
    if (counts) state.energy_j = joules;
    return state;
  };
  const auto burning = [&](const FakeLaunch& call) {
    bench.clock.advance_s(0.001);
    joules += 0.25;
    return doubling(call);
  };
  BenchAnswer answer = bench.run("burning", burning);
  CHECK(answer.telemetry.energy_j == doctest::Approx(0.25));
  CHECK(answer.telemetry.power_w == doctest::Approx(250));
  CHECK(bench.device.launches.size() == 1 + 1 + 2 + 5 + 507 + 2);
  counts = false;
  answer = bench.run("burning", burning);
  CHECK(answer.telemetry.energy_j == 0);
}

TEST_CASE("a program's reports are returned with their samples") {
  fakes::Bench bench;
  bench.open.reference = {};
  bench.open.arguments = {{}};
  bench.device.times_itself = true;
  double next = 0;
  bench.device.dress = [&](Sample& sample) { sample.reported = {++next}; };
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob job = bench.job("program", [](const fakes::FakeLaunch&) { return 1.5; });
  job.launch.call.emplace();
  job.launch.call->metrics.resize(1);
  job.launch.call->metrics[0].name = "rate";
  // Racing, so that samples precede the series.
  job.incumbent = Incumbent{1.5, 1.5};
  const BenchAnswer answer = session.bench(job);
  REQUIRE(answer.outcome == Outcome::ok);
  REQUIRE(answer.reported.size() == 1);
  CHECK(answer.reported[0].first == "rate");
  CHECK(answer.reported[0].second.size() == answer.samples_ms.size());
  CHECK(answer.reported[0].second.back() == next);
  const BenchAnswer sent = bench_answer_from_json(to_json(answer));
  CHECK(sent.reported == answer.reported);
}

TEST_CASE("a program's call survives its way to the worker") {
  BenchJob job;
  job.launch.call.emplace();
  ProgramCall& call = *job.launch.call;
  call.words = {"{out}", "a b"};
  call.environment = {{"N", "{tmp}"}};
  call.folder = "/a folder";
  call.time = {"", ProgramValue::Form::regex, "t (.*)", "{tmp}/x", "us", -1};
  call.metrics = {{"rate", ProgramValue::Form::csv, "rate", "", "GB/s", 3}};
  call.expect = "ok";
  call.check = {"check"};
  call.timeout_s = 2.5;
  call.device = "cuda";
  const BenchJob sent = bench_job_from_json(to_json(job));
  REQUIRE(sent.launch.call);
  CHECK(sent.launch.call->words == call.words);
  CHECK(sent.launch.call->environment == call.environment);
  CHECK(sent.launch.call->folder == call.folder);
  CHECK(sent.launch.call->time.form == ProgramValue::Form::regex);
  CHECK(sent.launch.call->time.file == "{tmp}/x");
  CHECK(sent.launch.call->metrics.at(0).row == 3);
  CHECK(sent.launch.call->expect == "ok");
  CHECK(sent.launch.call->check == call.check);
  CHECK(sent.launch.call->timeout_s == 2.5);
  CHECK(sent.launch.call->device == "cuda");
  CHECK_FALSE(bench_job_from_json(to_json(BenchJob())).launch.call);
}

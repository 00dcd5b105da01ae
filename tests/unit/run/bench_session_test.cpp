// Tests of the trial of one configuration: poison, guards, restored inputs, the reference and its reuse, rotation.
#include "core/run/bench_session.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "bench_fixture.hpp"
#include "core/validate/npy.hpp"

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
  // The reference, the validation, two warm-ups, five samples.
  REQUIRE(bench.device.launches.size() == 1 + 1 + 2 + 5);
  for (std::size_t i = 0; i < bench.device.launches.size(); ++i) {
    CHECK(bench.device.launches[i].timed == (i >= 3));  // the last warm-up tells how long a launch is
    CHECK(bench.device.launches[i].flush_bytes == (i >= 3 ? std::size_t{12} << 20 : 0));
  }
}

TEST_CASE("A kernel that writes before the start of a buffer is wrong, and the buffer is named") {
  for (const std::ptrdiff_t offset : {std::ptrdiff_t{-1}, -static_cast<std::ptrdiff_t>(guard_bytes)}) {
    Bench bench;
    const BenchAnswer answer = bench.run("before", [offset](const FakeLaunch& call) {
      doubling(call);
      call.buffer<std::byte>(1)[offset] = std::byte{7};
      return 1.0;
    });
    CHECK(answer.outcome == Outcome::wrong_result);
    CHECK(answer.stage == "validate");
    CHECK(answer.message == "y: the kernel wrote before the start of this buffer");
    CHECK(bench.run("doubling", doubling).outcome == Outcome::ok);
  }
}

TEST_CASE("A guarded buffer keeps to itself and to its alignment") {
  FakeDevice device;
  GuardedBuffer guarded(device, 10, 256);
  guarded.renew_guards();
  guarded.fill(0, 10, std::byte{1});
  CHECK(guarded.size() == 10);
  CHECK(guarded.damage() == nullptr);
  CHECK_THROWS_AS(guarded.fill(10, 1, std::byte{1}), std::out_of_range);
  CHECK_THROWS_AS(guarded.fill(1, ~std::size_t{0}, std::byte{1}), std::out_of_range);
  static_cast<std::byte*>(guarded.address())[10] = std::byte{0};
  CHECK(std::string(guarded.damage()) == "past the end of");
  guarded.renew_guards();
  CHECK(guarded.damage() == nullptr);
  GuardedBuffer bare(device, 10, 0);
  bare.renew_guards();
  CHECK(bare.damage() == nullptr);
}

TEST_CASE("What a kernel computes from beyond a buffer is NaN in every float type, also multiplied by nothing") {
  for (const DType type : {DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64}) {
    FakeDevice device;
    GuardedBuffer guarded(device, 4 * size_of(type), guard_bytes);
    guarded.renew_guards();
    const auto* const first = static_cast<const std::byte*>(guarded.address());
    for (const std::ptrdiff_t index : {-3, -1, 4, 7})
      CHECK(std::isnan(decode(type, first + index * static_cast<std::ptrdiff_t>(size_of(type)))));
  }
  Bench bench;
  const BenchAnswer answer = bench.run("reads too much", [](const FakeLaunch& call) {
    doubling(call);
    call.buffer<float>(1)[2] += 0 * call.buffer<float>(0)[count];
    return 1.0;
  });
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.message.find("1 NaN where the reference has none") != std::string::npos);
}

TEST_CASE("A kernel that overruns by a single value, whatever it is, is found") {
  for (const int value : {0x00, 0xA5, 0xFE, 0xFF}) {
    Bench bench;
    CHECK(bench
              .run("memset",
                   [value](const FakeLaunch& call) {
                     doubling(call);
                     std::memset(call.buffer<float>(1) + count, value, 2);
                     return 1.0;
                   })
              .outcome == Outcome::wrong_result);
  }
}

TEST_CASE("A kernel that writes past the end of a buffer is wrong, and the buffer is named") {
  const auto past_end = [](std::size_t argument, std::size_t offset) {
    return [=](const FakeLaunch& call) {
      doubling(call);
      call.buffer<std::byte>(argument)[count * sizeof(float) + offset] = std::byte{7};
      return 1.0;
    };
  };
  for (const std::size_t offset : {std::size_t{0}, guard_bytes - 1}) {
    Bench bench;
    const BenchAnswer output = bench.run("output", past_end(1, offset));
    CHECK(output.outcome == Outcome::wrong_result);
    CHECK(output.stage == "validate");
    CHECK(output.message.find("y: ") == 0);
    CHECK(output.samples_ms.empty());
    const BenchAnswer input = bench.run("input", past_end(0, offset));
    CHECK(input.outcome == Outcome::wrong_result);
    CHECK(input.message.find("x: ") == 0);
  }
}

TEST_CASE("A buffer whose size is no multiple of anything has its guard right behind the last element") {
  Bench bench;
  bench.open.arguments = {buffer("x", ArgRole::in), buffer("y", ArgRole::out), {}};
  for (ArgumentPlan& plan : bench.open.arguments)
    if (plan.buffer) {
      plan.buffer->dtype = DType::u8;
      plan.buffer->shape = {13};
    }
  const auto copy = [](const FakeLaunch& call) {
    std::copy_n(call.buffer<std::uint8_t>(0), 13, call.buffer<std::uint8_t>(1));
    return 1.0;
  };
  bench.device.kernels[bench.open.reference.artifact.key] = copy;
  CHECK(bench.run("copy", copy).outcome == Outcome::ok);
  CHECK(bench
            .run("one more",
                 [&](const FakeLaunch& call) {
                   call.buffer<std::uint8_t>(1)[13] = 1;
                   return copy(call);
                 })
            .message.find("y: ") == 0);
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

TEST_CASE("NaN never passes, whatever the tolerance") {
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
  CHECK(
      answer.message ==
      "x: the kernel changed this input: [1, 1] was 0 and is -0; if it is meant to, the argument's role is \"inout\"");
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
  CHECK(answer.message.starts_with("y: run 4 on the same inputs gave other bits than run 1: [5] was "));
  CHECK(answer.message.find("at least 1 elements differ: a race, or sums whose order") != std::string::npos);
  CHECK(runs == 4);
  CHECK(bench.run("racy while measured", racy_from(4)).outcome == Outcome::ok);
  bench.open.reference = {};
  CHECK(bench.run("racy, no reference", racy_from(1)).outcome == Outcome::wrong_result);
  bench.open.repeats = 0;
  CHECK(bench.run("not asked for", racy_from(1)).outcome == Outcome::ok);
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

TEST_CASE("The reference runs once; a second session takes it from the scratch folder") {
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

TEST_CASE("In-place arguments are restored before every launch and compared with the reference") {
  Bench bench;
  bench.open.arguments = {buffer("z", ArgRole::inout)};
  bench.open.reference.scalar_arguments.clear();
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
  REQUIRE(first_seen.size() == 1 + 1 + 2 + 5);
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
  bench.device.device_info.memory_bytes = 40'000;
  CHECK(bench.run("right", doubling).outcome == Outcome::ok);
  CHECK(bench.device.launches.back().flush_bytes > 0);
}

TEST_CASE("Under a sanitizer buffers end where the arguments end") {
  Bench bench;
  bench.open.sanitize = true;
  const BenchAnswer answer = bench.run("exact", [](const FakeLaunch& call) {
    for (Buffer* argument : call.buffers) CHECK(argument->size() == count * sizeof(float));
    return doubling(call);
  });
  CHECK(answer.outcome == Outcome::ok);
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
  CHECK(session.bench(bench.job("slow", slow)).busy_s == doctest::Approx(0.5 * (1 + 2 + 5)));
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
  BenchJob missing{{}, {}, {Bench::number(count)}};
  missing.artifact.key = std::string(64, 'f');
  CHECK(kind_of(missing) == ErrorKind::io);
  const BenchJob damaged = bench.job("damaged", doubling);
  const auto image = ArtifactCache(bench.open.cache).image_path(damaged.artifact);
  std::filesystem::permissions(image, std::filesystem::perms::owner_all);
  std::ofstream(image) << "image 0f damaged";
  CHECK(kind_of(damaged) == ErrorKind::io);
}

TEST_CASE("Without a reference anything but a broken guard passes") {
  Bench bench;
  bench.open.reference = {};
  const BenchAnswer answer = bench.run("anything", [](const FakeLaunch&) { return 2.0; });
  CHECK(answer.outcome == Outcome::ok);
  CHECK_FALSE(answer.validation.has_value());
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

TEST_CASE("What disturbs the device taints the answer, and its state is in the telemetry") {
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
  CHECK(bench.device.launches.size() == 1 + 1 + 2 + 5 + 507);
  counts = false;
  answer = bench.run("burning", burning);
  CHECK(answer.telemetry.energy_j == 0);
}

TEST_CASE("what a program reports comes with the samples that it belongs to") {
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

// Replaying a recording through the tuner: simulated time, raw samples, and what does not fit.
#include "lab/replay.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>

#include "caches.hpp"
#include "core/run/tuner.hpp"
#include "lab/formats.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::store;
using namespace xtune::lab;
using namespace xtune::run;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

/// An imported recording on disk, and its replay.
struct Replay {
  explicit Replay(Recording recorded, const std::string& more = "") : recording(std::move(recorded)) {
    const ImportedTexts texts = import_texts(recording, "replay", "replay.json");
    std::ofstream(folder.path() / "replay.configs.csv") << texts.configs;
    std::ofstream(folder.path() / "replay.jsonl") << texts.records;
    spec = parse_spec(texts.spec + more, "replay.toml", folder.path());
    spec.search.strategy = "exhaustive";
    lab::prepare(spec);
  }

  TuneResult run(std::size_t jobs = 1) {
    const Target target = lab::target_of(recording);
    EventLoop loop;
    lab::Simulation simulation(loop, 1000);
    lab::RecordedAnswers answers(recording);
    lab::ReplayCompileService compiler(simulation, answers, jobs);
    lab::ReplayBenchService bench(simulation, answers);
    TuneOptions options;
    const TemporaryDirectory store;
    options.store = store.path();
    options.scratch = folder.path();
    options.attempt = "a1";
    options.fresh = true;
    TuneObserver observer;
    const std::atomic<bool> stop{false};
    return tune(spec, spec.cases.front(), target, options, {loop, compiler, {&bench}, simulation, stop}, observer);
  }

  TemporaryDirectory folder;
  Recording recording;
  Spec spec;
};

Recording timed(std::vector<double> times_ms, double compile_s, double bench_s) {
  Recording recording = recording_of(times_ms);
  for (RecordedConfig& config : recording.configs) {
    config.compile_s = compile_s;
    config.bench_s = bench_s;
  }
  return recording;
}

}  // namespace

TEST_CASE("events happen in the order of their time, one a turn, and move the clock") {
  EventLoop loop;
  lab::Simulation simulation(loop, 1000);
  std::vector<std::string> order;
  const auto note = [&](const char* name) {
    return [&, name] { order.push_back(name + std::to_string(simulation.now_ns() / 1'000'000'000)); };
  };
  simulation.after_s(5, note("late"));
  simulation.after_s(2, note("first"));
  simulation.after_s(2, [&] {
    order.push_back("second");
    simulation.after_s(1, note("nested"));
  });
  simulation.after_s(-1, note("now"));
  loop.run();
  CHECK(order == std::vector<std::string>{"now0", "first2", "second", "nested3", "late5"});
  CHECK(simulation.unix_time_ms() == 6000);
}

TEST_CASE("a replay serves raw samples and takes as long as it took") {
  Replay replay(timed({3, 1, 2}, 1, 2));
  replay.recording.configs[1].samples_ms = {0.5, 1.5, 1};
  const TuneResult result = replay.run();
  REQUIRE(result.records.size() == 3);
  // One compiler: ready at 1, 2 and 3 s; the device is busy from 1 to 7 s.
  CHECK(result.total_s == doctest::Approx(7));
  CHECK(result.device_busy_s == doctest::Approx(6));
  CHECK(result.compile_cpu_s == doctest::Approx(3));
  CHECK(result.counts.at(Outcome::ok) == 3);
  for (const Record& record : result.records) {
    CHECK(record.device.backend == "replay");
    const auto i = static_cast<std::size_t>(std::get<std::int64_t>(record.config.at("i")));
    CHECK(record.samples_ms == replay.recording.configs[i].samples_ms);
    CHECK(record.compile_s == 1);
    CHECK(record.bench_s == 2);
  }
  CHECK(std::get<std::int64_t>(best_of(result.records)->record->config.at("i")) == 1);
}

TEST_CASE("a recorded time that was suspect loses to a clean one again") {
  Replay replay(timed({3, 1, 2}, 1, 2));
  replay.recording.configs[1].tainted = {"the clock was low"};
  const TuneResult result = replay.run();
  CHECK(std::get<std::int64_t>(best_of(result.records)->record->config.at("i")) == 2);
}

TEST_CASE("two runs are the same, also with several compilers") {
  std::vector<double> times;
  for (int i = 0; i < 60; ++i) times.push_back(i % 7 == 3 ? 0 : 1 + (i * 37) % 60);
  Replay replay(timed(times, 2, 0.25));
  replay.spec.search.strategy = "local";
  replay.spec.search.evals = 40;
  const TuneResult one = replay.run(4), two = replay.run(4);
  REQUIRE(one.records.size() == 40);
  CHECK(one.total_s == two.total_s);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(one.records[i].config == two.records[i].config);
    CHECK(one.records[i].unix_time_ms == two.records[i].unix_time_ms);
  }
  CHECK(one.counts.count(Outcome::launch_failed) == 1);
}

TEST_CASE("failures keep their outcome and message, and cost what they cost") {
  Replay replay(read_kernel_tuner(cache, "copy.json"));
  const TuneResult result = replay.run();
  CHECK(result.counts ==
        std::map<Outcome, std::uint64_t>{
            {Outcome::ok, 2}, {Outcome::rejected, 1}, {Outcome::compile_failed, 1}, {Outcome::launch_failed, 1}});
  for (const Record& record : result.records)
    if (record.outcome == Outcome::compile_failed) {
      CHECK(record.message == "Kernel Tuner recorded CompilationFailedConfig");
      CHECK(record.compile_s == doctest::Approx(0.5));
      CHECK(record.stage == "compile");
    }
}

TEST_CASE("a budget of simulated seconds ends a replay") {
  Replay replay(timed(std::vector<double>(50, 1), 0, 10));
  replay.spec.search.seconds = 100;
  const TuneResult result = replay.run();
  CHECK(result.out_of_time);
  CHECK(result.records.size() == 10);
}

TEST_CASE("configurations that were never recorded are rejected, saying so") {
  Replay replay(timed({1, 2, 3, 4}, 0, 1));
  Recording part = timed({1, 2}, 0, 1);
  const Space space = make_space(replay.spec, {}, {});
  CHECK(lab::recorded_of(space, part) == 2);
  replay.recording = std::move(part);
  const TuneResult result = replay.run();
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::rejected, 2}});
  CHECK(error_of([&] { lab::recorded_of(space, read_kernel_tuner(cache, "copy.json")); }).find("another space") !=
        std::string::npos);
}

TEST_CASE("the recording is chosen by kernel, problem, architecture and number") {
  Replay replay(timed({1, 2}, 0, 1));
  std::vector<Recording> all;
  for (const char* arch : {"sm_80", "sm_90", "sm_90"}) {
    all.push_back(recording_of({1, 2}));
    all.back().device.arch = arch;
  }
  const auto choose = [&](const Bindings& problem, const std::string& arch, int device) -> const Recording& {
    return lab::choose_recording(all, replay.spec, problem, arch, device);
  };
  CHECK(&choose({}, "", 0) == &all[0]);
  CHECK(&choose({}, "sm_90", 1) == &all[2]);
  CHECK(error_of([&] { choose({}, "sm_90", 2); }).find("2 devices (0 to 1)") != std::string::npos);
  CHECK(error_of([&] { choose({}, "gfx90a", 0); }).find("on gfx90a; the recording holds:") != std::string::npos);
  CHECK(error_of([&] { choose({{"N", std::int64_t{1}}}, "", 0); }).find("for N=1") != std::string::npos);
  all[0].kernel = all[1].kernel = all[2].kernel = "another";
  CHECK(error_of([&] { choose({}, "", 0); }).find("another of no problem sizes") != std::string::npos);
}

TEST_CASE("a recording's content is part of the toolchain's name, so records of two never mix") {
  const Target one = lab::target_of(recording_of({1, 2}));
  CHECK(one.device.backend == "replay");
  CHECK(one.backend.toolchain == lab::target_of(recording_of({1, 2})).backend.toolchain);
  CHECK(one.backend.toolchain != lab::target_of(recording_of({1, 3})).backend.toolchain);
}

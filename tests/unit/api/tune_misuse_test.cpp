// Mistakes of a caller, stops and exceptions while tuning: always an Error or a result, never a crash.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "unit/api/tune_fixture.hpp"

using namespace xtune::system;

namespace xtune {
namespace {

using namespace api_test;

TEST_CASE("settings that make no sense are refused") {
  const auto refused_with = [](const std::function<void(TuneSettings&)>& change) {
    TuneSettings settings = host_settings();
    change(settings);
    return refused(ErrorKind::invalid_argument, [&] { tune(saxpy(), settings); });
  };
  CHECK(has(refused_with([](TuneSettings& s) { s.evals = 0; }), "evals is 0"));
  CHECK(has(refused_with([](TuneSettings& s) { s.seconds = -1.0; }), "seconds is -1"));
  CHECK(has(refused_with([](TuneSettings& s) { s.seconds = 1e300; }), "seconds is 1e+300"));
  CHECK(has(refused_with([](TuneSettings& s) { s.jobs = 100000; }), "jobs is 100000"));
  CHECK(has(refused_with([](TuneSettings& s) { s.backend = "hots"; }), "hots"));
  CHECK(has(refused_with([](TuneSettings& s) { s.devices = {99}; }), "99"));
  CHECK(has(refused_with([](TuneSettings& s) {
              s.problem = {{"M", Value(1)}};
            }),
            "'M' is not a name of the problem; it has N"));
  CHECK(has(refused_with([](TuneSettings& s) { s.problem = {{"N", Value("big")}}; }), "string 'big'"));
  CHECK(has(refused_with([](TuneSettings& s) {
              s.configs = {config(32, 1)};
              s.configs_of = [](const Bindings&) { return std::vector<Bindings>(); };
            }),
            "exclude"));
  CHECK(has(refused_with([](TuneSettings& s) { s.strategy = "randm"; }),
            "settings: strategy: unknown strategy 'randm' (did you mean 'random'?)"));
  TuneSettings settings = host_settings();
  settings.problem = {{"N", Value(-5)}};
  CHECK_THROWS_AS(tune(saxpy(), settings), Error);
  settings.problem = {{"N", Value(std::int64_t{1} << 60)}};
  CHECK_THROWS_AS(tune(saxpy().reference(saxpy_reference), settings), Error);
}

TEST_CASE("data of another size than the shape has for the problem is refused") {
  const auto with_x = [](std::size_t size, const Shape& shape) {
    Tunable tunable("copy");
    tunable.source("extern \"C\" __global__ void copy(const float* x, float* y, int n) {}")
        .problem("N", 64)
        .param("BLOCK", {32})
        .grid({"ceildiv(N, BLOCK)"})
        .block({"BLOCK"})
        .input("x", std::vector<float>(size), shape)
        .output<float>("y", "N")
        .scalar("n", DType::i32, "N")
        .validator([](const Arguments&) { return true; });
    return tunable;
  };
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tune(with_x(65, "N"), host_settings()); }),
            "the data of 'x' has 260 bytes"));
  CHECK(has(refused(ErrorKind::invalid_argument,
                    [&] {
                      tune(with_x(64, {"N", 2}), host_settings());
                    }),
            "the data of 'x' has 256 bytes"));
  CHECK(tune(with_x(64, {"N / 8", 8}), host_settings()).found());
  Tunable cases = with_x(64, "N");
  cases.add_case({{"N", 64}}).add_case({{"N", 128}});
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tune_cases(cases, host_settings()); }),
            "the data of 'x' has 256 bytes"));
}

TEST_CASE("references that fail or describe something else are refused") {
  const auto with = [](std::function<Expected(const Arguments&)> reference) {
    return refused(ErrorKind::invalid_argument, [&] { tune(saxpy().reference(reference), host_settings()); });
  };
  CHECK(has(with([](const Arguments&) -> Expected { throw std::runtime_error("no memory for it"); }),
            "no memory for it"));
  CHECK(has(with([](const Arguments&) -> Expected { throw 3; }), "not a std::exception"));
  CHECK(has(with([](const Arguments&) { return Expected(); }), "describes no output"));
  CHECK(has(with([](const Arguments&) { return Expected().set("z", std::vector<float>(1)); }),
            "'z', which is not an output"));
  CHECK(has(with([](const Arguments&) { return Expected(std::vector<float>(7)); }), "28 bytes"));
  CHECK(has(with([](const Arguments&) { return Expected(std::vector<double>(1024)); }), "type f64"));
  CHECK(has(with([](const Arguments& a) {
              return Expected(a.input("y").as<double>()[0] > 0 ? std::vector<float>() : std::vector<float>());
            }),
            "asked for as f64"));
}

TEST_CASE("a stop token ends a run, which returns its measurements") {
  std::stop_source source;
  TuneSettings settings = host_settings();
  settings.stop = source.get_token();
  settings.on_measurement = [&](const Measurement&, const std::string&) { source.request_stop(); };
  const Result result = tune(saxpy(), settings);
  CHECK(result.interrupted);
  CHECK(result.measurements.size() == 1);

  const Result none = tune(saxpy(), settings);
  CHECK(none.interrupted);
  CHECK(none.kernel_name == "saxpy");
  CHECK(none.measurements.empty());
  CHECK(tune_cases(saxpy(), settings).empty());
}

TEST_CASE("a stop from another thread ends a kernel that never ends") {
  Tunable tunable = saxpy();
  tunable
      .source(
          "extern \"C\" __global__ void saxpy(const float*, float* y, float, int) { for (;;) *(volatile float*)y = "
          "UNROLL; }\n")
      .measure("timeout_s", 600);
  const TemporaryDirectory folder;
  std::stop_source source;
  TuneSettings settings = host_settings();
  settings.stop = source.get_token();
  settings.store = folder.path();
  const std::jthread stopper([&](const std::stop_token& over) {
    // Once there is a binary the device is soon at it.
    while (!over.stop_requested() && !std::filesystem::exists(folder.path() / "artifacts")) std::this_thread::yield();
    source.request_stop();
  });
  const Result result = tune(tunable, settings);
  CHECK(result.interrupted);
  CHECK(result.measurements.empty());
}

TEST_CASE("an exception of a callback leaves the run, and the next run works") {
  TuneSettings settings = host_settings();
  settings.on_progress = [](const TuneProgress&) { throw std::logic_error("progress"); };
  CHECK_THROWS_WITH_AS(tune(saxpy(), settings), "progress", std::logic_error);
  settings.on_progress = nullptr;
  settings.on_measurement = [](const Measurement&, const std::string&) { throw 42; };
  CHECK_THROWS_AS(tune(saxpy(), settings), int);
  CHECK(tune(saxpy(), host_settings()).found());
}

TEST_CASE("runs from several threads take turns; one from within a callback is refused") {
  std::vector<Result> results(2);
  {
    std::vector<std::jthread> threads;
    for (Result& result : results)
      threads.emplace_back([&result] {
        try {
          result = tune(saxpy(), host_settings());
        } catch (const std::exception& error) {
          result.warnings.emplace_back(error.what());
        }
      });
  }
  for (const Result& result : results) {
    CHECK(result.warnings == std::vector<std::string>());
    CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 4}});
  }
  TuneSettings settings = host_settings();
  std::string message;
  settings.on_measurement = [&](const Measurement&, const std::string&) {
    message = refused(ErrorKind::invalid_argument, [] { tune(saxpy(), host_settings()); });
  };
  CHECK(tune(saxpy(), settings).found());
  CHECK(has(message, "callback"));
}

TEST_CASE("without the xtune program there is a clear error") {
  const TuneSettings settings = host_settings();
  setenv("XTUNE_PROGRAM", "/nowhere/xtune", 1);
  CHECK(has(refused(ErrorKind::unavailable, [&] { tune(saxpy(), settings); }), "XTUNE_PROGRAM=/nowhere/xtune"));
  unsetenv("XTUNE_PROGRAM");
  CHECK(tune(saxpy(), settings).found());
}

}  // namespace
}  // namespace xtune

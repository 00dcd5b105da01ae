// Tuning from code on the host backend: data, references, checks, both isolations, and results.
#include "xtune/tune.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "unit/api/tune_fixture.hpp"

using namespace xtune::system;

namespace xtune {
namespace {

using namespace api_test;

TEST_CASE("host vectors and a reference in code") {
  std::vector<float> x(1024, 3.0f), y(1024);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i);
  Tunable tunable = saxpy();
  std::size_t calls = 0;
  tunable.data("x", x).data("y", y).reference([&](const Arguments& arguments) {
    ++calls;
    CHECK(arguments.size("N") == 1024);
    CHECK(arguments.input("x").as<float>()[7] == 3.0f);
    CHECK(arguments.input("y").as<float>()[7] == 7.0f);
    return saxpy_reference(arguments);
  });
  std::uint64_t last_done = 0;
  std::size_t told = 0;
  TuneSettings settings = host_settings();
  settings.on_progress = [&](const TuneProgress& progress) {
    CHECK(progress.total == 4);
    last_done = progress.done;
  };
  settings.on_measurement = [&](const Measurement& measurement, const std::string&) {
    CHECK_FALSE(measurement.from_store);
    ++told;
  };
  const Result result = tune(tunable, settings);
  CHECK(calls == 1);
  CHECK(last_done == 4);
  CHECK(told == 4);
  REQUIRE(result.found());
  CHECK(result.kernel_name == "saxpy");
  CHECK(result.device.backend == "host");
  CHECK(result.problem == Bindings{{"N", Value(1024)}});
  CHECK(result.space_size == 4);
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 4}});
  CHECK(result.best().time_ms > 0);
  CHECK(result.best().timing.low_ms <= result.best().timing.median_ms);
  REQUIRE(result.binary);
  CHECK(result.binary->format == "so");
  CHECK(
      result.binary->binary.starts_with("\x7F"
                                        "ELF"));
  CHECK(has(result.binary->source, "saxpy"));
  CHECK(result.binary->block.at(0) ==
        static_cast<std::uint32_t>(std::get<std::int64_t>(result.best().config.at("BLOCK"))));

  // Once more: everything is known, by the same data and the same expectation.
  settings.fresh = false;
  settings.on_measurement = nullptr;
  const Result again = tune(tunable, settings);
  CHECK(again.from_store == 4);
  CHECK(again.measurements.at(0).from_store);
  CHECK(again.best().config == result.best().config);
  x[0] = 4;
  CHECK(tune(tunable.data("x", x), settings).from_store == 0);
}

TEST_CASE("a reference in code finds the wrong configurations") {
  Tunable tunable = saxpy();
  tunable
      .source(
          "extern \"C\" __global__ void saxpy(const float* x, float* y, float a, int n) {\n"
          "  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;\n"
          "  for (int i = first; i < first + UNROLL; ++i)\n"
          "    if (i < n) y[i] = a * x[i] + y[i] + (UNROLL - 1);\n"
          "}\n")
      .reference(saxpy_reference);
  const Result result = tune(tunable, host_settings());
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::wrong_result, 2}});
  CHECK(result.best().config.at("UNROLL") == Value(1));
}

TEST_CASE("a check in code judges every configuration, in either isolation") {
  Tunable tunable = saxpy();
  std::set<Bindings> seen;
  tunable.validator(
      [&](const Arguments& arguments) {
        seen.insert(arguments.config);
        const auto expected = saxpy_reference(arguments);
        const auto y = arguments.output("y").as<float>();
        CHECK(std::equal(y.begin(), y.end(), reinterpret_cast<const float*>(expected.outputs().at("").host().data())));
        if (arguments.config == config(32, 1)) throw std::runtime_error("not this one");
        if (arguments.config == config(32, 2)) throw 7;
        return arguments.config != config(64, 1);
      },
      "mine");
  TuneSettings settings = host_settings();
  SUBCASE("process") {}
  SUBCASE("in process") { settings.isolation = Isolation::in_process; }
  const Result result = tune(tunable, settings);
  CHECK(seen.size() == 4);
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 1}, {Outcome::wrong_result, 3}});
  CHECK(result.best().config == config(64, 2));
  for (const Measurement& each : result.measurements) {
    if (each.config == config(32, 1)) CHECK(each.message == "the validator: not this one");
    if (each.config == config(32, 2)) CHECK(has(each.message, "not a std::exception"));
    if (each.config == config(64, 1)) CHECK(has(each.message, "outputs are wrong"));
  }
}

TEST_CASE("a check that reports only by exceptions") {
  Tunable tunable = saxpy();
  tunable.validator([](const Arguments& arguments) { (void)arguments.output("typo"); });
  const Result result = tune(tunable, host_settings());
  CHECK_FALSE(result.found());
  CHECK(has(refused(ErrorKind::nothing_valid, [&] { result.best(); }), "there is no output 'typo'"));
}

TEST_CASE("memory behind a device pointer is copied once") {
  const std::vector<float> x(1024, 5.0f);
  Tunable tunable = saxpy();
  tunable.data("x", Data::device(x.data(), x.size() * sizeof(float)))
      .data("y", Fill::zero)
      .reference([](const Arguments& a) {
        CHECK(a.input("x").as<float>()[1023] == 5.0f);
        return std::vector<float>(1024, 10.0f);
      });
  TuneSettings settings = host_settings();
  CHECK(tune(tunable, settings).counts.at(Outcome::ok) == 4);
  settings.max_copy_bytes = 4095;
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tune(tunable, settings); }), "max_copy_bytes"));
  settings.isolation = Isolation::in_process;
  CHECK(tune(tunable, settings).counts.at(Outcome::ok) == 4);

  const auto with = [&](const Data& data) {
    return refused(ErrorKind::invalid_argument, [&] { tune(saxpy().data("x", data), host_settings()); });
  };
  CHECK(has(with(Data::device(x.data(), 4000)), "'x' has 4000 bytes, and the argument f32[1024] takes 4096"));
  CHECK(has(with(Data::device(reinterpret_cast<const void*>(64), 4096)), "in no memory of this process"));
  CHECK(has(with(std::vector<float>(3)), "'x' has 12 bytes"));
  CHECK(has(with(std::vector<int>(1024)), "type i32"));
  CHECK(has(with(Data::file("/nowhere.npy")), "/nowhere.npy is not a file"));
  CHECK(has(with(Data::generate([](const Bindings&) { return std::vector<std::byte>(5); })), "'x' has 5 bytes"));
}

TEST_CASE("data made for each problem") {
  Tunable tunable = saxpy();
  tunable.add_case({{"N", Value(64)}}).add_case({{"N", Value(128)}});
  tunable.data("x", Data::generate([](const Bindings& problem) {
                 return std::vector<std::byte>(static_cast<std::size_t>(std::get<std::int64_t>(problem.at("N"))) * 4);
               }));
  const std::vector<Result> results = tune_cases(tunable, host_settings());
  REQUIRE(results.size() == 2);
  CHECK(results[0].problem.at("N") == Value(64));
  CHECK(results[1].counts.at(Outcome::ok) == 4);
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tune(tunable, host_settings()); }), "tune_cases"));
  TuneSettings settings = host_settings();
  settings.problem = {{"N", Value(32)}};
  CHECK(tune(tunable, settings).problem.at("N") == Value(32));
}

TEST_CASE("a generator sees the type and the shape of its buffer, the problem and the seed") {
  Tunable tunable = saxpy();
  tunable.search("seed", 7);
  std::vector<DataRequest> requests;
  const auto zeros = [&](const DataRequest& request) {
    requests.push_back(request);
    return std::vector<std::byte>(request.bytes());
  };
  tunable.data("x", Data::generate(zeros)).data("y", Data::generate(zeros));
  CHECK(tune(tunable, host_settings()).counts.at(Outcome::ok) == 4);
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].name == "x");
  CHECK(requests[1].name == "y");
  CHECK(requests[0].dtype == DType::f32);
  CHECK(requests[0].shape == std::vector<std::uint64_t>{1024});
  CHECK(requests[0].elements() == 1024);
  CHECK(requests[0].problem.at("N") == Value(1024));
  CHECK(requests[0].seed == 7);
  CHECK(has(refused(ErrorKind::invalid_argument, [] { Data::generate(Data::Generator()); }), "function is empty"));
}

TEST_CASE("parameters whose values belong together") {
  Tunable tunable("pairs");
  tunable.source("extern \"C\" __global__ void pairs(float* y) { y[threadIdx.x] = A * 10 + B; }")
      .params({"A", "B"}, {{1, 2}, {3, 4}, {3, 5}})
      .params({"WORD", "SIZE"}, {{"a", 1.5}, {"b", 2.5}}, ParamKind::launch_only)
      .grid({1})
      .block({32})
      .output<float>("y", 32);
  const std::vector<Bindings> configs = all_configs(tunable);
  CHECK(configs.size() == 6);
  for (const Bindings& each : configs)
    CHECK((each.at("A") == Value(1) ? each.at("B") == Value(2) : each.at("B") != Value(2)));
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tunable.params({"C", "D"}, {{1}}); }), "a row has 1 values"));
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tunable.params({"C"}, {{1}}); }), "at least two parameters"));
}

TEST_CASE("configurations that are given: a list, or a function of the problem") {
  TuneSettings settings = host_settings();
  settings.configs = {config(64, 2), config(32, 1), config(64, 2), config(63, 1)};
  std::vector<std::string> lines;
  settings.on_log = [&](const std::string& line) { lines.push_back(line); };
  Result result = tune(saxpy(), settings);
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}});
  REQUIRE(result.warnings.size() == 1);
  CHECK(has(result.warnings.front(), "configs[3]"));
  CHECK(has(lines.front(), "warning: configs[3]"));

  settings.configs.clear();
  settings.configs_of = [](const Bindings& problem) {
    CHECK(problem.at("N") == Value(1024));
    return std::vector<Bindings>{config(32, 2)};
  };
  CHECK(tune(saxpy(), settings).best().config == config(32, 2));
  settings.configs_of = [](const Bindings&) -> std::vector<Bindings> { throw std::logic_error("mine"); };
  CHECK_THROWS_AS(tune(saxpy(), settings), std::logic_error);

  settings.configs_of = nullptr;
  settings.configs = {{{"BLOK", Value(1)}}};
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tune(saxpy(), settings); }), "did you mean 'BLOCK'"));
  settings.configs = {config(1, 1)};
  CHECK(has(refused(ErrorKind::nothing_valid, [&] { tune(saxpy(), settings); }), "none of the configurations"));
}

TEST_CASE("a predicate narrows the space of a run") {
  Tunable tunable = saxpy();
  tunable.constraint({"BLOCK", "UNROLL"}, [](const Bindings& values) { return values.at("BLOCK") == Value(32); });
  const Result result = tune(tunable, host_settings());
  CHECK(result.space_size == 2);
  CHECK(result.best().config.at("BLOCK") == Value(32));
}

TEST_CASE("a configuration that crashes costs that configuration") {
  Tunable tunable = saxpy();
  tunable.source(
      "extern \"C\" __global__ void saxpy(const float* x, float* y, float a, int n) {\n"
      "  if (UNROLL == 2) *(volatile int*)0 = 1;\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) y[i] = a * x[i] + y[i];\n"
      "}\n");
  const Result result = tune(tunable, host_settings());
  CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::ok, 2}, {Outcome::crashed, 2}});
}

TEST_CASE("keep = false leaves nothing behind") {
  const TemporaryDirectory folder;
  TuneSettings settings = host_settings();
  settings.store = folder.path() / "store";
  settings.keep = false;
  settings.evals = 1;
  const Result result = tune(saxpy(), settings);
  CHECK(result.found());
  CHECK(result.binary);
  CHECK_FALSE(std::filesystem::exists(settings.store));
}

TEST_CASE("a function is tuned in the place of a kernel: raced, stored, and failed by its exceptions") {
  std::size_t calls = 0;
  const auto timed = [&](const Bindings& problem, const Bindings& config) {
    ++calls;
    CHECK(problem == Bindings{{"N", 4}});
    if (config.at("B") == Value(3)) throw std::runtime_error("no three");
    if (config.at("B") == Value(4)) return 0.0;
    return value_as<double>(config.at("B")) + (value_as<bool>(config.at("FAST")) ? 0.25 : 0.5) +
           (value_as<std::string>(config.at("WORD")) == "{a b}" ? 0 : 1);
  };
  Tunable tunable("function");
  tunable.problem("N", 4)
      .param("B", {1, 2, 3, 4})
      .param("FAST", {false, true})
      .param("WORD", std::vector<std::string>{"{a b}", "c"})
      .constraint({"B", "FAST"}, [](int b, bool fast) { return b < 3 || fast; })
      .function(timed, "1");
  TuneSettings settings;
  settings.store = shared_store();
  const Result result = tune(tunable, settings);
  CHECK(result.best().config == Bindings{{"B", 1}, {"FAST", true}, {"WORD", "{a b}"}});
  CHECK(result.best().time_ms == 1.25);
  CHECK(result.space_size == 12);
  CHECK(result.counts.at(Outcome::launch_failed) == 4);
  CHECK(!result.binary);
  std::string messages;
  for (const Measurement& measurement : result.measurements) messages += measurement.message + "\n";
  CHECK(has(messages, "no three"));
  CHECK(has(messages, "times are from"));

  calls = 0;
  CHECK(tune(tunable, settings).from_store == 12);
  CHECK(calls == 0);
  tunable.function(timed, "2");
  CHECK(tune(tunable, settings).from_store == 0);

  tunable.function([](const Bindings&, const Bindings&) -> double { throw Error(ErrorKind::interrupted, "enough"); },
                   "3");
  CHECK_THROWS_WITH_AS(tune(tunable, settings), "enough", Error);
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { Tunable("f").function(timed, "1").toml(); }), "parameter"));
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { Tunable("f").function(timed, "1", "tpu"); }), "tpu"));
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { Tunable("f").function(nullptr, "1"); }), "empty"));
}

/// Its time is the value of B.
Tunable prepared(std::function<void(const Bindings& problem, const Bindings& config)> prepare) {
  Tunable tunable("prepared");
  tunable.problem("N", 4)
      .param("B", {4, 3, 2, 1})
      .measure("rep", 3)
      .function([](const Bindings&, const Bindings& config) { return value_as<double>(config.at("B")); }, "1", "host",
                std::move(prepare));
  return tunable;
}

TEST_CASE("a function is prepared on other threads, once, before it is timed") {
  TuneSettings settings;
  settings.keep = false;
  settings.jobs = 2;
  std::mutex mutex;
  std::map<std::string, int> counts;
  const Result result = tune(prepared([&](const Bindings& problem, const Bindings& config) {
                               const std::lock_guard lock(mutex);
                               if (problem != Bindings{{"N", 4}}) throw std::runtime_error("another problem");
                               if (config.at("B") == Value(2)) throw std::runtime_error("no two");
                               ++counts[to_text(config.at("B"))];
                             }),
                             settings);
  CHECK(counts == std::map<std::string, int>{{"1", 1}, {"3", 1}, {"4", 1}});
  CHECK(result.best().config == Bindings{{"B", 1}});
  CHECK(result.best().compile_s > 0);
  CHECK(result.counts.at(Outcome::compile_failed) == 1);
  CHECK(result.measurements.size() == 4);
  for (const Measurement& each : result.measurements)
    if (each.outcome == Outcome::compile_failed) CHECK(each.message == "no two");

  const auto interrupt = [](const Bindings&, const Bindings&) { throw Error(ErrorKind::interrupted, "enough"); };
  CHECK_THROWS_WITH_AS(tune(prepared(interrupt), settings), "enough", Error);
  const auto odd = [](const Bindings&, const Bindings&) { throw 3; };
  CHECK(tune(prepared(odd), settings).counts.at(Outcome::compile_failed) == 4);
}

TEST_CASE("a stopped run waits for the preparations in progress and begins no others") {
  std::stop_source stop;
  std::atomic<int> begun{0}, ended{0};
  TuneSettings settings;
  settings.keep = false;
  settings.jobs = 1;
  settings.stop = stop.get_token();
  const Result result = tune(prepared([&](const Bindings&, const Bindings&) {
                               ++begun;
                               stop.request_stop();
                               ++ended;
                             }),
                             settings);
  CHECK(result.interrupted);
  CHECK(begun == ended);
  CHECK(begun >= 1);
}

TEST_CASE("metrics in code decide, and nothing that they return is stored") {
  const TemporaryDirectory folder;
  TuneSettings settings = host_settings();
  settings.store = folder.path();
  settings.fresh = false;
  double factor = 1;
  Tunable tunable = saxpy();
  tunable.measure("race", true).measure("finals", 8);
  tunable
      .metric("size",
              [](const Bindings& values) {
                return value_as<double>(values.at("BLOCK")) * value_as<double>(values.at("UNROLL"));
              })
      .metric("work", {[&](const Bindings& values) {
                         CHECK(value_as<double>(values.at("time_ms")) > 0);
                         return factor * value_as<double>(values.at("size"));
                       },
                       "linear"})
      .metric("plain", "2 * BLOCK")
      .minimize({"work"});
  CHECK(has(tunable.toml(), "# in code, label \"linear\""));
  const Result least = tune(tunable, settings);
  CHECK(least.best().config == config(32, 1));
  CHECK(least.counts.at(Outcome::ok) == 4);  // none was pruned
  CHECK(least.best().metrics == std::vector<std::pair<std::string, double>>{{"size", 32}, {"work", 32}, {"plain", 64}});
  factor = -1;
  tunable.metric("work", {[&](const Bindings& values) { return factor * value_as<double>(values.at("size")); }, "2"});
  const Result most = tune(tunable, settings);
  CHECK(most.from_store == 4);
  CHECK(most.best().config == config(64, 2));

  tunable.metric("work", [](const Bindings&) -> double { throw std::runtime_error("on purpose"); });
  CHECK_THROWS_WITH_AS(tune(tunable, settings), "on purpose", std::runtime_error);
  tunable.metric("work", std::function<double(const Bindings&)>());
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { tune(tunable, settings); }), "'work' is empty"));
  tunable.metric("work", "BLOCK");
  CHECK(tune(tunable, settings).best().config.at("BLOCK") == Value(32));
}

}  // namespace
}  // namespace xtune

// Kernel Tuner caches: their contents, missing parts, and damage.
#include <doctest/doctest.h>

#include "caches.hpp"
#include "lab/formats.hpp"
#include "support/text.hpp"

using namespace xtune::lab;
using namespace xtune::space;

using namespace xtune;
using namespace xtune::test;

namespace {

RecordedConfig at(const Recording& recording, std::int64_t x, const std::string& y) {
  return recording.configs.at(*recording.space.index_of(Config{x, y}));
}

std::string with(const std::string& entry) { return cache_head + entry + "}\n}"; }

}  // namespace

TEST_CASE("a cache gives kernel, problem, device, space and every outcome") {
  const Recording recording = read_kernel_tuner(cache, "copy.json");
  CHECK(recording.kernel == "copy");
  CHECK(recording.source == "Kernel Tuner");
  CHECK(recording.device.name == "NVIDIA A100");
  CHECK(recording.device.vendor == "nvidia");
  CHECK(recording.device.arch == "sm_80");
  CHECK(recording.problem == Bindings{{"problem_size_x", std::int64_t{4096}}, {"problem_size_y", std::int64_t{2}}});
  CHECK(recording.space.size() == 5);
  CHECK(recording.valid() == 2);
  const RecordedConfig& first = at(recording, 1, "row");
  CHECK(first.outcome == Outcome::ok);
  CHECK(first.time_ms == 3.0);
  CHECK(first.samples_ms == std::vector<double>{2, 4});
  CHECK(first.compile_s == doctest::Approx(1.0));
  CHECK(first.bench_s == doctest::Approx(0.5));  // verification and benchmark
  CHECK(first.overhead_s == doctest::Approx(0.002));
  CHECK(first.unix_time_ms == 1703251043719);
  CHECK(at(recording, 4, "row").outcome == Outcome::compile_failed);
  CHECK(at(recording, 4, "row").compile_s == doctest::Approx(0.5));
  CHECK(at(recording, 1, "col").outcome == Outcome::launch_failed);
  CHECK(at(recording, 2, "col").outcome == Outcome::rejected);
  CHECK(recording.damage.count == 0);
  CHECK(recording.warnings.empty());
  // 4,col is not a key of the cache, so it is not a configuration.
  CHECK_FALSE(recording.space.index_of(Config{std::int64_t{4}, std::string("col")}));
}

TEST_CASE("a cache that Kernel Tuner still writes is read up to its last whole entry") {
  for (const char* ending : {",", ",\n", "", "\n", "}"}) {
    const Recording open = read_kernel_tuner(cache_head + cache_entries + ending, "open.json");
    CHECK_MESSAGE(open.space.size() == 5, ending);
    CHECK(open.warnings.empty());
  }
  const Recording torn =
      read_kernel_tuner(cache_head + cache_entries + ",\n\"4,col\": {\"x\": 4, \"y\": \"c", "open.json");
  CHECK(torn.space.size() == 5);
  REQUIRE(torn.warnings.size() == 1);
  CHECK(has(torn.warnings[0], "torn last entry"));
  CHECK(error_of([] { read_kernel_tuner(cache_head, "empty.json"); }) ==
        "nothing_valid: empty.json: the cache has no entries");
}

TEST_CASE("every prefix of a cache is read or refused, never worse") {
  int read = 0;
  for (std::size_t size = 0; size < cache.size(); ++size) try {
      const Recording recording = read_kernel_tuner(cache.substr(0, size), "cut.json");
      CHECK(recording.space.size() >= 1);
      ++read;
    } catch (const Error& error) {
      CHECK(has(error.what(), "cut.json"));
    }
  CHECK(read > 400);
}

TEST_CASE("the failures of old versions, and times that are none") {
  const auto one = [](const std::string& members) {
    return read_kernel_tuner(with("\"1,row\": {\"x\": 1, \"y\": \"row\"" + members + "}"), "one.json");
  };
  CHECK(one(", \"time\": 1e20").configs[0].outcome == Outcome::launch_failed);
  CHECK(one(", \"time\": 1e20").damage.count == 0);
  CHECK(one(", \"time\": \"TimeoutConfig\"").configs[0].outcome == Outcome::timed_out);
  for (const char* time : {"NaN", "-Infinity", "0", "-1.5", "null", "[1]", "\"fast\"", "1e-320", "1e-10", "1e18"}) {
    const Recording damaged = one(std::string(", \"time\": ") + time);
    CHECK_MESSAGE(damaged.damage.count == 1, time);
    CHECK(has(damaged.damage.first, "entry '1,row': "));
    CHECK(damaged.configs[0].outcome == Outcome::launch_failed);
    CHECK(damaged.valid() == 0);
  }
  CHECK(has(one(", \"time\": \"fast\"").damage.first, "time is \"fast\", no number"));
  CHECK(one(", \"time\": \"InvalidConfig\"").damage.count == 0);
  CHECK(one(", \"__error__\": \"out of memory\"").damage.count == 0);
  CHECK(one(", \"time\": 2, \"times\": [2, 1e-320]").damage.count == 1);
  CHECK(one("").damage.count == 1);
  CHECK(one(", \"time\": 2, \"times\": [2, NaN]").damage.count == 1);
  CHECK(one(", \"time\": 2").configs[0].samples_ms == std::vector<double>{2});
  CHECK(one(", \"time\": 2, \"compile_time\": NaN, \"benchmark_time\": -3").configs[0].seconds() == 0);
  const Recording odd =
      one(", \"time\": 2, \"compile_time\": 1e300, \"benchmark_time\": -3, \"framework_time\": \"long\"");
  CHECK(odd.configs[0].seconds() == 0);
  CHECK(odd.damage.count == 0);
  REQUIRE(odd.warnings.size() == 1);
  CHECK(has(odd.warnings[0], "3 times of compiling or measuring are invalid and count as 0, first entry '1,row': "));
  CHECK(one(", \"time\": 2, \"compile_time\": 0").warnings.empty());
}

TEST_CASE("text inside strings is not changed, NaN or brace") {
  const std::string text = R"({"tune_params_keys": ["y"], "tune_params": {"y": ["NaN}", "a\"{"]},
    "cache": {"NaN}": {"y": "NaN}", "time": 1}, "a\"{": {"y": "a\"{", "time": 2}}})";
  const Recording recording = read_kernel_tuner(text, "text.json");
  CHECK(recording.space.size() == 2);
  CHECK(recording.configs[*recording.space.index_of(Config{std::string("NaN}")})].time_ms == 1);
}

TEST_CASE("parameters of mixed types, without tune_params, of one value") {
  const Recording recording = read_kernel_tuner(
      R"({"tune_params_keys": ["a", "b", "c"], "cache": {
        "1": {"a": 1, "b": true, "c": 0.5, "time": 1}, "2": {"a": 2.5, "b": false, "c": 0.5, "time": 2}}})",
      "mixed.json");
  CHECK(recording.space.parameters()[0].values == std::vector<Value>{1.0, 2.5});
  CHECK(recording.space.parameters()[1].values == std::vector<Value>{false, true});
  CHECK(recording.space.index_of(Config{1.0, true, 0.5}));
  CHECK(recording.problem.empty());
  CHECK(recording.device.name == "unknown");
}

TEST_CASE("values with control characters are kept as they are") {
  const Recording recording = read_kernel_tuner(
      R"({"device_name": "A100", "kernel_name": "k", "problem_size": "a\u0001", "tune_params_keys": ["KIND"],
          "tune_params": {"KIND": ["x\u001by", "line\nbreak"]},
          "cache": {"a": {"KIND": "x\u001by", "time": 1.0}, "b": {"KIND": "line\nbreak", "time": 2.0}}})",
      "k.json");
  CHECK(recording.problem == Bindings{{"problem_size", "a\x01"}});
  CHECK(recording.space.index_of(Config{"x\x1by"}).has_value());
  CHECK(recording.space.index_of(Config{"line\nbreak"}).has_value());
}

TEST_CASE("T4 results are read as the cache of the same run") {
  const auto result = [](const std::string& config, const std::string& rest) {
    return "{\"timestamp\": \"2023-12-22T13:17:23+00:00\", \"configuration\": {" + config + "}, " + rest + "}";
  };
  const auto failed = [](const std::string& word) {
    return "\"invalidity\": \"" + word +
           "\", \"measurements\": [], \"times\": {\"compilation_time\": 500, \"runtimes\": []}";
  };
  const std::string measured =
      "\"invalidity\": \"correct\", \"times\": {\"compilation_time\": 1000, \"runtimes\": [2.0, 4.0]}, "
      "\"measurements\": "
      "[{\"name\": \"time\", \"value\": 3.0, \"unit\": \"ms\"}]";
  const std::string given_up =
      "\"invalidity\": \"correct\", \"times\": {\"runtimes\": [8.0, 10.0]}, \"measurements\": []";
  const Recording recording = read_kernel_tuner(
      "{\"schema_version\": \"1.0.0\", \"results\": [" + result("\"x\": 1, \"y\": \"a\"", measured) + ", " +
          result("\"x\": 2, \"y\": \"a\"", failed("compile")) + ", " +
          result("\"x\": 1, \"y\": \"b\"", failed("correctness")) + ", " +
          result("\"x\": 2, \"y\": \"b\"", failed("timeout")) + ", " +
          result("\"x\": 4, \"y\": \"a\"", failed("constraints")) + ", " + result("\"x\": 4, \"y\": \"b\"", given_up) +
          ", " + result("\"x\": 1, \"y\": \"a\"", failed("runtime")) + "]}",
      "t4.json");
  CHECK(recording.warnings.empty());
  CHECK(recording.damage.count == 0);
  const auto at = [&](std::int64_t x, const char* y) {
    return recording.configs.at(recording.space.index_of(Config{x, std::string(y)}).value());
  };
  CHECK(at(1, "a").outcome == Outcome::ok);
  CHECK(at(1, "a").time_ms == 3.0);
  CHECK(at(1, "a").samples_ms == std::vector<double>{2.0, 4.0});
  CHECK(at(1, "a").compile_s == doctest::Approx(1));
  CHECK(at(1, "a").unix_time_ms > 0);
  CHECK(at(2, "a").outcome == Outcome::compile_failed);
  CHECK(at(1, "b").outcome == Outcome::wrong_result);
  CHECK(at(2, "b").outcome == Outcome::timed_out);
  CHECK(at(4, "a").outcome == Outcome::rejected);
  CHECK(at(4, "b").time_ms == 9.0);
}

TEST_CASE("a file that is not a cache is refused with the reason") {
  const auto refusal = [](const std::string& text) { return error_of([&] { read_kernel_tuner(text, "f.json"); }); };
  CHECK(has(refusal(""), "invalid_argument: f.json: not a Kernel Tuner cache"));
  CHECK(has(refusal("[1, 2]"), "its JSON is not an object"));
  CHECK(has(refusal("{\"a\": 1}"), "it has no tune_params_keys or no cache"));
  CHECK(has(refusal("{\"results\": []}"), "T4"));
  CHECK(has(refusal("{\"results\": [{\"times\": {}}]}"), "results[0]: expected an object with a configuration"));
  CHECK(has(refusal(std::string(100000, '[')), "nests too deep"));
  CHECK(has(refusal("{\"tune_params_keys\": [], \"cache\": {\"1\": {}}}"), "nothing to tune"));
  CHECK(has(refusal("{\"tune_params_keys\": [\"x\", \"x\"], \"cache\": {\"1\": {}}}"), "twice"));
  CHECK(has(refusal(with("\"1\": 3")), "entry '1': expected an object, got 3"));
  CHECK(has(refusal(with("\"1\": {\"x\": 1}")), "entry '1' has no value for y: a cache of another space"));
  CHECK(has(refusal(with("\"8,row\": {\"x\": 8, \"y\": \"row\", \"time\": 1}")),
            "entry '8,row': x = 8 is not among its values in tune_params: a cache of another space"));
  CHECK(has(refusal(with("\"1\": {\"x\": [1], \"y\": \"row\"}")), "expected a number, a string or a boolean"));
  CHECK(refusal(with("")) == "nothing_valid: f.json: the cache has no entries");
}

TEST_CASE("a configuration that comes twice counts once") {
  const Recording recording =
      read_kernel_tuner(with(R"("1,row": {"x": 1, "y": "row", "time": 1}, "again": {"x": 1, "y": "row", "time": 2},
              "more": {"x": 1, "y": "row", "time": 3})"),
                        "f.json");
  CHECK(recording.space.size() == 1);
  REQUIRE(recording.warnings.size() == 1);
  CHECK(has(recording.warnings[0], "2 of 3 entries repeat a configuration and are skipped, first entry 'again'"));
}

TEST_CASE("timestamps") {
  CHECK(unix_time_ms_of("1970-01-01 00:00:00") == 0);
  CHECK(unix_time_ms_of("2023-12-22T13:17:23.719843+00:00") == 1703251043719);
  CHECK(unix_time_ms_of("2023-12-22 14:17:23+01:00") == 1703251043000);
  CHECK(unix_time_ms_of("2024-02-29 00:00:00Z") == 1709164800000);
  for (const char* text : {"", "yesterday", "1011-12-22 13:17:23", "1970-01-01 00:00:00+01:00", "2023-02-29 00:00:00",
                           "2023-12-22", "2023-12-22 25:00:00", "2023-12-22 13:17:23 x"})
    CHECK_MESSAGE(!unix_time_ms_of(text), text);
}

TEST_CASE("a file with another objective is refused, unless that ranks as time does") {
  const auto cache_by = [](const std::string& objective, const std::string& a, const std::string& b) {
    return R"({"kernel_name": "k", "tune_params_keys": ["x"], "tune_params": {"x": [1, 2]}, "objective": )" +
           objective + R"(, "cache": {"1": {"x": 1, "time": 1.0, )" + a + R"(}, "2": {"x": 2, "time": 2.0, )" + b +
           "}}}";
  };
  const std::string energy = cache_by("\"energy\"", R"("energy": 9.0)", R"("energy": 3.0)");
  CHECK(error_of([&] { read_kernel_tuner(energy, "e.json"); }) ==
        "invalid_argument: e.json: its configurations are ranked by the objective 'energy', and xtune replays times "
        "only. `xtune import kernel-tuner --objective time` ranks them by time instead");
  CHECK(read_kernel_tuner(energy, "e.json", true).valid() == 2);
  CHECK(has(error_of([&] { read_kernel_tuner(cache_by(R"(["time", "energy"])", R"("a": 1)", R"("a": 1)"), "e.json"); }),
            "ranked by the objectives 'time', 'energy'"));
  CHECK(has(error_of([&] { read_kernel_tuner(cache_by("\"GB/s\"", R"("GB/s": 8)", R"("b": 4)"), "e.json"); }), "GB/s"));
  CHECK(read_kernel_tuner(cache_by("\"GB/s\"", R"("GB/s": 8.0)", R"("GB/s": 4.0)"), "e.json").valid() == 2);
  CHECK(read_kernel_tuner(cache_by("[\"time\"]", R"("a": 1)", R"("a": 1)"), "e.json").valid() == 2);
  // Without a time there is nothing to rank by; T4 names its objectives in each result.
  CHECK(has(error_of([&] {
              read_kernel_tuner(R"({"tune_params_keys": ["m"], "objective": "score", "cache": {"a": {"m": "a",
                                   "score": 0.9}, "b": {"m": "b", "score": 0.1}}})",
                                "s.json");
            }),
            "'score'"));
  CHECK(has(error_of([&] {
              read_kernel_tuner(R"({"results": [{"configuration": {"m": "a"}, "times": {"runtimes": [10.0]},
                                   "measurements": [{"name": "score", "value": 0.9}], "objectives": ["score"]},
                                   {"configuration": {"m": "b"}, "times": {"runtimes": [5.0]},
                                   "measurements": [{"name": "score", "value": 0.1}], "objectives": ["score"]}]})",
                                "t4.json");
            }),
            "'score'"));
}

TEST_CASE("an objective stands for the time only if what is better of it is known, and then ranks alike") {
  const auto cache_by = [](const std::string& members, const std::string& value, const std::string& other) {
    return R"({"tune_params_keys": ["x"], "tune_params": {"x": [1, 2]}, )" + members +
           R"(, "cache": {"1": {"x": 1, "time": 1.0, )" + value + R"(}, "2": {"x": 2, )" + other + "}}}";
  };
  const auto refusal = [](const std::string& text) { return error_of([&] { read_kernel_tuner(text, "f.json"); }); };
  const auto is_read = [](const std::string& text) { return read_kernel_tuner(text, "f.json").valid() > 0; };
  const auto by = [&](const std::string& members, const std::string& name, bool grows) {
    return cache_by(members, "\"" + name + "\": 100.0",
                    "\"time\": 2.0, \"" + name + "\": " + (grows ? "200.0" : "50.0"));
  };
  CHECK(
      has(refusal(by(R"("objective": "GFLOP/s")", "GFLOP/s", true)), "'GFLOP/s', of which more is better, and xtune"));
  CHECK(is_read(by(R"("objective": "GFLOP/s")", "GFLOP/s", false)));
  CHECK(is_read(by(R"("objective": "nvml_energy")", "nvml_energy", true)));
  CHECK(has(refusal(by(R"("objective": "nvml_energy")", "nvml_energy", false)), "'nvml_energy'"));
  for (const bool grows : {true, false})
    CHECK(has(refusal(by(R"("objective": "score")", "score", grows)),
              "'score', of which neither its name nor objective_higher_is_better says whether less is better"));
  CHECK(is_read(by(R"("objective": "score", "objective_higher_is_better": false)", "score", true)));
  CHECK(is_read(by(R"("objective": "score", "objective_higher_is_better": [true])", "score", false)));
  CHECK(
      has(refusal(by(R"("objective": "score", "objective_higher_is_better": true)", "score", true)), "more is better"));
  CHECK(has(refusal(by(R"("objective": "time", "objective_higher_is_better": true)", "a", true)),
            "'time', of which more is better"));
  // One entry with a time shows nothing of an objective, and one without a time may be the best.
  CHECK(has(refusal(cache_by(R"("objective": "score")", R"("score": 1.0)", R"("time": "RuntimeFailedConfig")")),
            "'score', of which neither"));
  CHECK(has(refusal(cache_by(R"("objective": "energy")", R"("energy": 2.0)", R"("energy": 1.0)")), "'energy'"));
  // Earlier and later versions write "objective" or "objectives".
  CHECK(has(refusal(by(R"("objectives": ["GFLOP/s"])", "GFLOP/s", true)), "'GFLOP/s', of which more is better"));
  CHECK(has(refusal(by(R"("objectives": ["time", "GFLOP/s"])", "GFLOP/s", false)), "objectives 'time', 'GFLOP/s'"));
  CHECK(is_read(by(R"("objectives": ["time"])", "GFLOP/s", true)));
  CHECK(has(refusal(by(R"("objective": "time", "objectives": ["GFLOP/s"])", "GFLOP/s", false)),
            "its objective 'time' contradicts its objectives 'GFLOP/s'"));
  CHECK(read_kernel_tuner(by(R"("objective": "score")", "score", true), "f.json", true).valid() == 2);
}

namespace {

struct T4Row {
  std::string x, time;
  std::string more{};  // members: ", \"correctness\": 0"
  std::string unit = "ms";
  std::string objectives = R"(["time"])";
};

std::string t4_file(const std::vector<T4Row>& rows, const std::string& members = "") {
  std::string text = "{" + members + "\"results\": [";
  for (const T4Row& row : rows)
    text += (&row == rows.data() ? "" : ", ") +
            (R"({"configuration": {"x": )" + row.x + R"(}, "times": {"runtimes": [)" + row.time +
             R"(], "compilation_time": 500}, "invalidity": "correct", "measurements": [{"name": "time", "value": )" +
             row.time + R"(, "unit": ")" + row.unit + R"("}, {"name": "gflops", "value": )" + row.time +
             R"(, "unit": "GFLOP/s"}], "objectives": )" + row.objectives + row.more + "}");
  return text + "]}";
}

}  // namespace

TEST_CASE("times of T4 results are read in their units") {
  const auto time_ms = [](const std::string& unit) {
    return read_kernel_tuner(t4_file({{"1", "4.0", "", unit}}), "t4.json").configs[0].time_ms;
  };
  CHECK(time_ms("ms") == 4);
  CHECK(time_ms("") == 4);
  CHECK(time_ms("s") == 4000);
  CHECK(time_ms("seconds") == 4000);
  CHECK(time_ms("us") == doctest::Approx(0.004));
  CHECK(time_ms("ns") == doctest::Approx(4e-6));
  const Recording mixed = read_kernel_tuner(t4_file({{"1", "4.0", "", "ms"}, {"2", "5.0", "", "us"}}), "t4.json");
  CHECK(mixed.configs[1].time_ms < mixed.configs[0].time_ms);
  CHECK(
      error_of([&] { time_ms("cycles"); }) ==
      "invalid_argument: t4.json: results[0]: the unit of its time is \"cycles\": expected a unit of time (s, ms, us, "
      "ns)");
  // The other durations have one unit for all; Kernel Tuner's own spelling of milliseconds counts.
  const Recording seconds =
      read_kernel_tuner(t4_file({{"1", "4.0", "", "s"}}, R"("metadata": {"timeunit": "seconds"}, )"), "t4.json");
  CHECK(seconds.configs[0].samples_ms == std::vector<double>{4000});
  CHECK(seconds.configs[0].compile_s == doctest::Approx(500));
  CHECK(seconds.warnings.empty());
  const Recording misspelt =
      read_kernel_tuner(t4_file({{"1", "4.0", "", "ms"}}, R"("metadata": {"timeunit": "miliseconds"}, )"), "t4.json");
  CHECK(misspelt.configs[0].samples_ms == std::vector<double>{4});
}

TEST_CASE("a T4 result that is not correct is a wrong result, whatever its time is") {
  for (const char* correctness : {"0", "false", "0.0", "0.5"}) {
    const Recording recording =
        read_kernel_tuner(t4_file({{"1", "4.0", R"(, "correctness": 1)"},
                                   {"2", "2.0", std::string(", \"correctness\": ") + correctness}}),
                          "t4.json");
    CHECK(recording.valid() == 1);
    CHECK(recording.configs[1].outcome == Outcome::wrong_result);
  }
  for (const char* correctness : {"1", "true", "null"})
    CHECK(read_kernel_tuner(t4_file({{"1", "4.0", std::string(", \"correctness\": ") + correctness}}), "t4.json")
              .valid() == 1);
}

TEST_CASE("T4 results that are ranked by several objectives are refused, except by time") {
  const std::string by_gflops = R"(["gflops"])";
  const std::string last = t4_file({{"1", "4.0"}, {"2", "3.0"}, {"4", "2.0", "", "ms", by_gflops}});
  CHECK(has(error_of([&] { read_kernel_tuner(last, "t4.json"); }),
            "t4.json: results[2] is ranked by 'gflops', and results before it by 'time'"));
  CHECK(read_kernel_tuner(last, "t4.json", true).valid() == 3);
  // gflops grows with the time here, and more of it is better.
  const std::string all = t4_file({{"1", "4.0", "", "ms", by_gflops}, {"2", "3.0", "", "ms", by_gflops}});
  CHECK(has(error_of([&] { read_kernel_tuner(all, "t4.json"); }), "'gflops', of which more is better"));
}

TEST_CASE("an entry whose key names another configuration than its values is skipped") {
  const std::string head = R"({"tune_params_keys": ["b", "f"], "tune_params": {"b": [64, 128], "f": [true, false]},
                               "cache": {"64,True": {"b": 64, "f": true, "time": 4.0}, )";
  const Recording recording = read_kernel_tuner(
      head + R"("128,True": {"b": 64, "f": true, "time": 2.0}, "128,False": {"b": 128, "f": false, "time": 3.0}}})",
      "f.json");
  CHECK(recording.space.size() == 2);
  REQUIRE(recording.warnings.size() == 1);
  CHECK(
      recording.warnings[0] ==
      "f.json: the keys of 1 of 3 entries name other configurations than their values, and these entries are skipped, "
      "first entry '128,True'");
  CHECK(recording.configs[*recording.space.index_of(Config{std::int64_t{64}, true})].time_ms == 4);
  CHECK(error_of([&] {
          read_kernel_tuner(R"({"tune_params_keys": ["b"], "tune_params": {"b": [64, 128]},
                               "cache": {"64": {"b": 128, "time": 4.0}}})",
                            "f.json");
        }) == "nothing_valid: f.json: the keys of all entries name other configurations than their values");
}

TEST_CASE("a time that contradicts its samples counts, with a warning") {
  const Recording recording =
      read_kernel_tuner(with(R"("1,row": {"x": 1, "y": "row", "time": 8.0, "times": [0.02, 0.02]},
              "2,row": {"x": 2, "y": "row", "time": 3.0, "times": [2.0, 4.0]})"),
                        "f.json");
  CHECK(at(recording, 1, "row").time_ms == 8);
  CHECK(at(recording, 1, "row").samples_ms == std::vector<double>{8});
  CHECK(at(recording, 2, "row").samples_ms == std::vector<double>{2, 4});
  REQUIRE(recording.warnings.size() == 1);
  CHECK(has(recording.warnings[0], "in 1 of 2 entries 'time' contradicts 'times'"));
  CHECK(has(recording.warnings[0], "entry '1,row': time is 8 ms, the mean of times 0.02 ms"));
  // xtune exports the median.
  const Recording exported =
      read_kernel_tuner(with(R"("1,row": {"x": 1, "y": "row", "time": 2.0, "times": [1.0, 2.0, 9.0]},
              "2,row": {"x": 2, "y": "row", "time": 3.0, "times": [3.0, 3.0, 3.0]})"),
                        "f.json");
  CHECK(exported.statistic == spec::Statistic::median);
  CHECK(exported.warnings.empty());
  CHECK(at(exported, 1, "row").samples_ms.size() == 3);
  CHECK(has(import_texts(exported, "f", "f.json").spec, "statistic = \"median\""));
}

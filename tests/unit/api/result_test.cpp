// Saving and loading results, and compiling without measuring.
#include "xtune/result.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "fakes/environment_variable.hpp"
#include "unit/api/tune_fixture.hpp"
#include "xtune/kernel.hpp"

using namespace xtune::base;
using namespace xtune::system;

namespace xtune {
namespace {

using namespace api_test;

Result example() {
  Result result;
  result.kernel_name = "saxpy";
  result.problem = {{"N", Value(64)}, {"layout", Value("row")}, {"scale", Value(1.0)}};
  result.device = {"cuda", "NVIDIA H200", "sm_90", 2};
  result.toolchain = "nvrtc 13.0";
  Measurement measurement;
  measurement.config = config(64, 2);
  measurement.stage = "measure";
  measurement.time_ms = 1.25;
  measurement.timing.samples = 3;
  measurement.timing.low_ms = 1;
  measurement.timing.high_ms = 2;
  measurement.samples_ms = {1, 1.25, 2};
  measurement.metrics = {{"GB_per_s", 3.5}, {"none", std::nan("")}};
  measurement.resources.registers = 32;
  measurement.tainted = {"hot"};
  measurement.key = "k";
  result.winner = measurement;
  result.ties = {measurement};
  measurement.outcome = Outcome::crashed;
  measurement.message = "why";
  result.measurements = {*result.winner, measurement};
  result.counts = {{Outcome::ok, 1}, {Outcome::crashed, 1}};
  result.space_size = 9;
  result.binary = WinningKernel{
      "// source\n", std::string("\x7F\0ELF", 5), "cubin", "saxpy", {1, 2, 3}, {64, 1, 1}, 7, "sm_90a", {2, 1, 1}, {}};
  result.binary->arguments = {{"x", WinningArgument::Kind::buffer, DType::f16, {8, 4}, "", {}},
                              {"y", WinningArgument::Kind::written, DType::f32, {8}, "", {}},
                              {"n", WinningArgument::Kind::scalar, DType::i32, {}, "N", {}},
                              {"step", WinningArgument::Kind::scalar, DType::f64, {}, "UNROLL / 2", Value(1.0)}};
  return result;
}

TEST_CASE("a result comes back as it was saved") {
  const TemporaryDirectory folder;
  const Result saved = example();
  saved.save(folder.path() / "deep/er");
  const Result loaded = Result::load(folder.path() / "deep/er");
  CHECK(loaded.kernel_name == saved.kernel_name);
  CHECK(loaded.problem == saved.problem);
  CHECK(loaded.device.name == "NVIDIA H200");
  CHECK(loaded.device.index == 2);
  CHECK(loaded.best().config == config(64, 2));
  CHECK(loaded.best().samples_ms == saved.best().samples_ms);
  CHECK(loaded.best().timing.high_ms == 2);
  CHECK(loaded.best().metrics.at(0) == saved.best().metrics.at(0));
  CHECK(std::isnan(loaded.best().metrics.at(1).second));
  CHECK(loaded.best().resources.registers == 32);
  CHECK_FALSE(loaded.best().resources.spilled_bytes);
  CHECK(loaded.best().tainted == saved.best().tainted);
  CHECK(loaded.ties.size() == 1);
  CHECK(loaded.measurements.at(1).outcome == Outcome::crashed);
  CHECK(loaded.measurements.at(1).message == "why");
  CHECK(loaded.counts == saved.counts);
  REQUIRE(loaded.binary);
  CHECK(loaded.binary->binary == saved.binary->binary);
  CHECK(loaded.binary->source == "// source\n");
  CHECK(loaded.binary->grid == std::vector<std::uint32_t>{1, 2, 3});
  CHECK(loaded.binary->shared_bytes == 7);
  CHECK(loaded.binary->arch == "sm_90a");
  CHECK(loaded.binary->cluster == std::vector<std::uint32_t>{2, 1, 1});
  REQUIRE(loaded.binary->arguments.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const WinningArgument &got = loaded.binary->arguments[i], &given = saved.binary->arguments[i];
    CHECK(got.name == given.name);
    CHECK(got.kind == given.kind);
    CHECK(got.dtype == given.dtype);
    CHECK(got.shape == given.shape);
    CHECK(got.value == given.value);
    CHECK(got.filled == given.filled);
  }
  for (const char* name : {"best_config.json", "latency.json", "kernel.cu", "kernel.cubin"})
    CHECK(std::filesystem::exists(folder.path() / "deep/er" / name));
}

TEST_CASE("damaged and foreign directories are refused") {
  const TemporaryDirectory folder;
  const auto load = [&] { Result::load(folder.path()); };
  CHECK(has(refused(ErrorKind::io, load), "best_config.json"));
  example().save(folder.path());
  std::ofstream(folder.path() / "kernel.cubin", std::ios::app) << "x";
  CHECK(has(refused(ErrorKind::io, load), "SHA-256"));

  const auto changed = [&](const std::function<void(nlohmann::json&)>& change, bool sealed = true) {
    example().save(folder.path());
    nlohmann::json json = nlohmann::json::parse(read_file(folder.path() / "best_config.json"));
    change(json);
    if (sealed && json.is_object()) {
      json.erase("sha256");
      json["sha256"] = sha256(json.dump());
    }
    std::ofstream(folder.path() / "best_config.json") << json;
    return refused(ErrorKind::io, load);
  };
  CHECK(has(changed([](auto& json) { json["binary"]["format"] = "/../../etc/passwd"; }), "not a format of a binary"));
  CHECK(has(changed([](auto& json) { json["schema"] = 99; }), "schema 99"));
  CHECK(has(changed([](auto& json) { json.erase("device"); }), "not a saved result"));
  CHECK(has(changed([](auto& json) { json["binary"]["grid"] = {1}; }), "three extents"));
  CHECK(has(changed([](auto& json) { json["binary"]["arguments"][0]["dtype"] = "f7"; }), "'x' is a buffer of f7"));
  CHECK(has(changed([](auto& json) { json["binary"]["arguments"][0]["kind"] = "socket"; }), "does not know"));
  CHECK(has(changed([](auto& json) { json["binary"].erase("arguments"); }), "not a saved result"));
  CHECK(has(changed([](auto& json) { json = "text"; }), "not a saved result"));
  CHECK(has(changed([](auto& json) { json["time_ms"] = 0.125; }),
            "best_config.json: time_ms is 0.125, and the best measurement of latency.json has 1.25"));
  CHECK(has(changed([](auto& json) { json["config"]["BLOCK"] = 32; }), "best_config.json: config is "));
  CHECK(has(changed([](auto& json) { json["interval_ms"] = {1, 1}; }), "best_config.json: interval_ms is [1,1]"));
  CHECK(
      has(changed([](auto& json) { json["problem"]["N"] = 65; }, false), "best_config.json: what it says was changed"));
  CHECK(has(changed([](auto& json) { json["schema"] = 1; }), "schema 1"));  // which had no hashes
  example().save(folder.path() / "other");
  std::ofstream(folder.path() / "other/latency.json") << "{";
  CHECK(has(refused(ErrorKind::io, [&] { Result::load(folder.path() / "other"); }),
            "latency.json is not a saved result"));
  CHECK(has(refused(ErrorKind::nothing_valid, [&] { Result().save(folder.path()); }), "no configuration"));
}

TEST_CASE("edited times and sources are refused with the place") {
  const TemporaryDirectory folder;
  const auto changed = [&](const std::function<void(nlohmann::json&)>& change) {
    example().save(folder.path());
    nlohmann::json json = nlohmann::json::parse(read_file(folder.path() / "latency.json"));
    change(json);
    std::ofstream(folder.path() / "latency.json") << json;
    return refused(ErrorKind::io, [&] { Result::load(folder.path()); });
  };
  CHECK(has(changed([](auto& json) { json["best"]["time_ms"] = 0.5; }), "latency.json: best was changed"));
  CHECK(has(changed([](auto& json) { json["ties"][0]["samples_ms"][1] = 9; }), "latency.json: ties[0] was changed"));
  CHECK(has(changed([](auto& json) { json["measurements"][1]["outcome"] = "ok"; }), "measurements[1] was changed"));
  CHECK(has(changed([](auto& json) { json["counts"]["ok"] = 5; }), "latency.json: what it says was changed"));
  CHECK(has(changed([](auto& json) { json["best"].erase("sha256"); }), "not a saved result"));

  example().save(folder.path());
  std::ofstream(folder.path() / "kernel.cu", std::ios::app) << "// more\n";
  CHECK(
      has(refused(ErrorKind::io, [&] { Result::load(folder.path()); }), "kernel.cu is not the source that was saved"));
  std::filesystem::remove(folder.path() / "kernel.cu");
  CHECK(Result::load(folder.path()).binary->source.empty());

  Result bare = example();
  bare.binary->source.clear();
  std::ofstream(folder.path() / "kernel.cu") << "// another result's\n";
  bare.save(folder.path());
  CHECK(Result::load(folder.path()).binary->source.empty());
}

TEST_CASE("a directory or file that other users can change is refused") {
  const TemporaryDirectory above;
  const std::filesystem::path folder = above.path() / "saved", binary = folder / "kernel.cubin";
  const auto load = [&] { Result::load(folder); };
  example().save(folder);
  for (const char* name : {"", "best_config.json", "latency.json", "kernel.cubin", "kernel.cu"}) {
    const std::filesystem::path path = *name ? folder / name : folder;
    const auto before = std::filesystem::status(path).permissions();
    std::filesystem::permissions(path, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
    CHECK(has(refused(ErrorKind::io, load), path.string() + ": every user may write to it"));
    std::filesystem::permissions(path, before);
  }
  CHECK_NOTHROW(load());
  const auto give_away = [](const std::filesystem::path& path) { return ::lchown(path.c_str(), 54321, 54322) == 0; };
  if (!give_away(binary)) {
    MESSAGE("skipped: only root can give files away");
    return;
  }
  const std::string stranger = "kernel.cubin: it belongs to uid 54321, and its directory to ";
  CHECK(has(refused(ErrorKind::io, load), stranger));
  {
    const Variable trust("XTUNE_TRUST", "54321");
    CHECK_NOTHROW(load());
  }
  // A link of another user to a file of this one.
  example().save(folder);
  std::filesystem::rename(binary, above.path() / "own");
  std::filesystem::create_symlink("../own", binary);
  CHECK_NOTHROW(load());
  REQUIRE(give_away(binary));
  CHECK(has(refused(ErrorKind::io, load), stranger));
  // The directory that the user named may be another's, with its files.
  std::filesystem::remove(binary);
  example().save(folder);
  for (const auto& file : std::filesystem::directory_iterator(folder)) REQUIRE(give_away(file.path()));
  REQUIRE(give_away(folder));
  CHECK_NOTHROW(load());
}

TEST_CASE("an empty name or a file in the place of the directory is the caller's mistake") {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "saved.json";
  std::ofstream(file) << "{}";
  for (const auto& refusal : {refused(ErrorKind::invalid_argument, [&] { example().save(file); }),
                              refused(ErrorKind::invalid_argument, [&] { Result::load(file); })})
    CHECK(has(refusal, "saved.json is a file, and a saved result is a directory with best_config.json"));
  CHECK(
      has(refused(ErrorKind::invalid_argument, [] { example().save(""); }), "Result::save: the directory has no name"));
  CHECK(has(refused(ErrorKind::invalid_argument, [] { Result::load(""); }), "Result::load: the directory has no name"));
}

TEST_CASE("compile_all compiles what it is given, in order") {
  CompileSettings settings;
  settings.backend = "host";
  settings.store = shared_store();
  settings.jobs = 2;
  Tunable tunable = saxpy();
  const std::vector<CompiledConfig> compiled =
      compile_all(tunable, {config(64, 2), config(32, 2), config(7, 7), config(32, 1)}, settings);
  REQUIRE(compiled.size() == 4);
  CHECK(compiled[0].config == config(64, 2));
  CHECK(compiled[0].outcome == Outcome::ok);
  CHECK(compiled[0].key == compiled[1].key);  // BLOCK is launch-only
  CHECK(compiled[0].key != compiled[3].key);
  CHECK(compiled[2].outcome == Outcome::rejected);
  CHECK(has(compiled[2].message, "not valid"));
  CHECK(has(refused(ErrorKind::invalid_argument,
                    [&] {
                      compile_all(tunable, {{{"BLOCK", Value(32)}}}, settings);
                    }),
            "UNROLL has no value"));
  CHECK(compile_all(tunable, {}, settings).empty());
  settings.compiler = "clang";
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { compile_all(tunable, {config(32, 1)}, settings); }),
            "compiler 'clang' is not one of backend host"));
  settings.compiler = "auto";

  tunable.source("extern \"C\" __global__ void saxpy(const float*, float*, float, int) { nonsense }\n");
  const auto broken = compile_all(tunable, {config(32, 1)}, settings);
  CHECK(broken.at(0).outcome == Outcome::compile_failed);
  CHECK(has(broken.at(0).log, "nonsense"));
}

TEST_CASE("compiled configurations can be called, each by itself") {
  CompileSettings settings;
  settings.backend = "host";
  shared_store();
  const TemporaryDirectory store;
  settings.store = store.path();
  const Tunable tunable = saxpy(100);
  const std::vector<CompiledConfig> compiled =
      compile_all(tunable, {config(64, 2), config(32, 1), config(7, 7)}, settings);
  REQUIRE(compiled.size() == 3);
  const std::vector<float> x(100, 3.0f);
  for (const CompiledConfig* each : {&compiled[0], &compiled[1]}) {
    std::vector<float> y(100, 1.0f);
    const Kernel kernel = each->kernel();
    CHECK(kernel.choice().config == each->config);
    kernel(nullptr, x.data(), y.data(), 2.0f, 100);
    CHECK(y == std::vector<float>(100, 7.0f));
    each->kernel<void(const float*, float*, float, int)>()(nullptr, x.data(), y.data(), 2, 100);
    CHECK(y == std::vector<float>(100, 13.0f));
    CHECK(has(refused(ErrorKind::invalid_argument, [&] { kernel(nullptr, x.data(), y.data(), 2.0f, 99); }), "N=99"));
  }
  CHECK(has(refused(ErrorKind::nothing_valid, [&] { compiled[2].kernel(); }), "BLOCK=7 UNROLL=7 has no binary"));
  CHECK(has(refused(ErrorKind::invalid_argument, [] { CompiledConfig().kernel(); }), "compile_all"));
  std::filesystem::remove_all(settings.store / "artifacts");
  CHECK(has(refused(ErrorKind::unavailable, [&] { compiled[0].kernel(); }), "compile it again"));
}

TEST_CASE("all_configs lists the space, predicates included") {
  CompileSettings settings;
  settings.backend = "host";
  settings.store = shared_store();
  Tunable tunable = saxpy();
  CHECK(all_configs(tunable, settings) ==
        std::vector<Bindings>{config(32, 1), config(32, 2), config(64, 1), config(64, 2)});
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { all_configs(tunable, settings, 3); }), "4 valid"));
  tunable.constraint({"BLOCK"}, [](const Bindings& values) { return values.at("BLOCK") == Value(64); });
  CHECK(all_configs(tunable, settings) == std::vector<Bindings>{config(64, 1), config(64, 2)});
}

}  // namespace
}  // namespace xtune

// Kernels that tune the problems of their calls: with a store that cannot be written, and if no configuration passes.
#include <doctest/doctest.h>

#include <fstream>

#include "unit/api/tune_fixture.hpp"
#include "xtune/kernel.hpp"

using namespace xtune::system;

namespace xtune {
namespace {

using namespace api_test;

struct Caller {
  std::vector<std::string> messages, log;
  LoadSettings settings;
  std::size_t measured = 0;

  explicit Caller(const std::filesystem::path& store) {
    settings.backend = "host";
    settings.store = store;
    settings.policy = Policy::tune_once;
    settings.on_message = [this](const std::string& text) { messages.push_back(text); };
    settings.tuning.jobs = 2;
    settings.tuning.on_log = [this](const std::string& text) { log.push_back(text); };
    settings.tuning.on_measurement = [this](const Measurement&, const std::string&) { ++measured; };
  }
};

void check_saxpy(const Kernel& kernel, int n) {
  std::vector<float> x(static_cast<std::size_t>(n), 3.0f), y(x.size(), 1.0f);
  kernel(nullptr, static_cast<const float*>(x.data()), y.data(), 2.0f, n);
  CHECK(y == std::vector<float>(x.size(), 7.0f));
}

std::size_t count_of(const std::vector<std::string>& texts, const std::string& part) {
  std::size_t count = 0;
  for (const std::string& text : texts) count += text.find(part) != std::string::npos;
  return count;
}

TEST_CASE("a winner serves its process where the store cannot be written, or nothing is to be kept") {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "file") << "in the way";
  Caller caller(folder.path() / "file/store");
  std::string why = "cannot make the directory of " + (folder.path() / "file/store/records").string();
  SUBCASE("a store below a file") {}
  SUBCASE("nothing is kept") {
    caller.settings.store = folder.path() / "store";
    caller.settings.tuning.keep = false;
    why = "TuneSettings::keep is false";
  }
  const Kernel kernel = load(saxpy(), caller.settings);
  check_saxpy(kernel, 512);
  CHECK(caller.measured >= 4);
  const std::size_t before = caller.measured;
  const Choice choice = kernel.choice({{"N", Value(512)}});
  CHECK(choice.kind == Choice::Kind::exact);
  CHECK(choice.measured_for == Bindings{{"N", Value(512)}});
  check_saxpy(kernel, 512);
  CHECK(caller.measured == before);
  CHECK(count_of(caller.messages, "serve only this process") == 1);
  CHECK(has(caller.messages.back(), "the store " + caller.settings.store.string() + " does not keep them: "));
  CHECK(has(caller.messages.back(), why));
}

TEST_CASE("a result has its binary where the store cannot be written, and each cause is told once") {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "file") << "in the way";
  TuneSettings settings = host_settings();
  settings.store = folder.path() / "file/store";
  std::vector<std::string> log;
  settings.on_log = [&](const std::string& text) { log.push_back(text); };
  const Result result = tune(saxpy(), settings);
  REQUIRE(result.found());
  REQUIRE(result.binary);
  CHECK(has(result.binary->source, "saxpy"));
  check_saxpy(result.kernel(), 1024);
  CHECK(count_of(log, "cannot make the directory") == 1);
  CHECK(count_of(result.warnings, "cannot make the directory") == 1);
  CHECK(count_of(result.warnings, "records could not be stored") == 1);
}

TEST_CASE("a result has its binary where the store has lost it since") {
  const TemporaryDirectory folder;
  TuneSettings settings = host_settings();
  settings.store = folder.path();
  REQUIRE(tune(saxpy(), settings).binary);
  settings.fresh = false;
  std::filesystem::remove_all(folder.path() / "artifacts");
  const Result again = tune(saxpy(), settings);
  CHECK(again.from_store == again.measurements.size());
  REQUIRE(again.binary);
  check_saxpy(again.kernel(), 1024);
}

TEST_CASE("what an application's own reference or check found wrong is not launched by another run of it") {
  const TemporaryDirectory folder;
  Tunable wrong = saxpy(256);
  SUBCASE("a check") {
    wrong.output_check([](const Arguments&) { return false; }, "never");
  }
  SUBCASE("a reference, and data") {
    wrong.data("x", std::vector<float>(256, 1.0f));
    wrong.reference([](const Arguments&) { return std::vector<float>(256, -1.0f); });
  }
  TuneSettings settings = host_settings();
  settings.store = folder.path();
  CHECK_FALSE(tune(wrong, settings).found());
  Caller caller(folder.path());
  caller.settings.policy = Policy::lookup;
  const Kernel kernel = load(wrong, caller.settings);
  for (const int n : {256, 1000}) {
    std::vector<float> x(1000, 3.0f), y(1000, 1.0f);
    const std::string error = refused(ErrorKind::nothing_valid,
                                      [&] { kernel(nullptr, static_cast<const float*>(x.data()), y.data(), 2.0f, n); });
    CHECK(has(error, "failed for N=256 (wrong_result"));
    CHECK(y == std::vector<float>(1000, 1.0f));
  }
}

TEST_CASE("a relative store stays where it was when the kernel was loaded") {
  const TemporaryDirectory folder, elsewhere;
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  Caller caller("store");
  const Kernel kernel = load(saxpy(512), caller.settings);
  std::filesystem::current_path(elsewhere.path());
  check_saxpy(kernel, 512);
  std::filesystem::current_path(here);
  CHECK(std::filesystem::exists(folder.path() / "store/records"));
  CHECK(std::filesystem::is_empty(elsewhere.path()));
  CHECK(kernel.choice({{"N", Value(512)}}).kind == Choice::Kind::exact);
}

TEST_CASE("a change of the working directory in a callback does not move the store, and a removed one is an error") {
  const TemporaryDirectory folder, elsewhere;
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  TuneSettings settings = host_settings();
  settings.store = "store";
  settings.on_progress = [&](const TuneProgress&) { std::filesystem::current_path(elsewhere.path()); };
  const Result result = tune(saxpy(), settings);
  CHECK(result.binary);
  CHECK(result.warnings.empty());
  CHECK(std::filesystem::is_empty(elsewhere.path()));
  std::filesystem::current_path(folder.path());
  std::filesystem::remove_all(folder.path());
  const std::string error = refused(ErrorKind::io, [] { Tunable("k"); });
  CHECK(has(error, "cannot determine the working directory"));
  CHECK(has(refused(ErrorKind::io, [&] { load(saxpy(), Caller("store").settings); }), "working directory"));
  std::filesystem::current_path(here);
}

TEST_CASE("where every configuration is wrong nothing is launched, and later calls say so at once") {
  Caller caller(shared_store());
  caller.settings.tuning.fresh = true;
  Tunable wrong = saxpy(256);
  wrong.validator([](const Arguments&) { return false; }, "never");
  const Kernel kernel = load(wrong, caller.settings);
  std::vector<float> x(256, 3.0f), y(256, 1.0f);
  const auto call = [&] { kernel(nullptr, static_cast<const float*>(x.data()), y.data(), 2.0f, 256); };
  const std::string error = refused(ErrorKind::nothing_valid, call);
  CHECK(has(error, "saxpy, N=256: none of 4 configurations passed: 4 wrong_result. The first failure (wrong_result)"));
  const std::size_t before = caller.measured;
  CHECK(refused(ErrorKind::nothing_valid, call) == error);
  CHECK(caller.measured == before);
  CHECK(y == std::vector<float>(256, 1.0f));
}

}  // namespace
}  // namespace xtune

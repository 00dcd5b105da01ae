// Configurations that are known to fail are not launched for problems that they were not measured for.
#include "core/store/lookup.hpp"
#include "unit/dispatch/shop.hpp"

using namespace xtune::device;
using namespace xtune::store;

namespace xtune {
namespace {

const Bindings asked{{"N", std::int64_t{1024}}};

bool any_holds(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a default configuration whose results were wrong for another problem is an error, and is not launched") {
  for (const Outcome outcome : {Outcome::wrong_result, Outcome::crashed, Outcome::timed_out, Outcome::launch_failed}) {
    Shop shop;
    shop.fail(4096, 32, 1, outcome);
    const Kernel kernel = shop.kernel();
    const std::string error = test::error_of([&] { shop.call(kernel, 1024); }, ErrorKind::nothing_valid);
    CHECK(holds(error, std::string("the default configuration BLOCK=32 ITEMS=1 failed for N=4096 (") +
                           to_string(outcome) + ": y[3] is 7)"));
    CHECK(holds(error, "LoadSettings::default_config"));
    CHECK(test::error_of([&] { shop.call(kernel, 1024); }, ErrorKind::nothing_valid) == error);
    CHECK(test::error_of([&] { kernel.choice(asked); }, ErrorKind::nothing_valid) == error);
    CHECK(test::error_of([&] { kernel.prepare(asked); }, ErrorKind::nothing_valid) == error);
    CHECK(shop.runtime->launches().empty());
    shop.settings.default_config = {{"BLOCK", std::int64_t{64}}, {"ITEMS", std::int64_t{1}}};
    CHECK(shop.call(shop.kernel(), 1024).image == "BLOCK=64 ");
  }
}

TEST_CASE("failures that were never run, or are out of date, do not exclude a default configuration") {
  Shop shop;
  SUBCASE("the compiler failed") { shop.fail(4096, 32, 1, Outcome::compile_failed); }
  SUBCASE("the compiler took too long") {
    shop.stage_of_failures = "compile";
    shop.fail(4096, 32, 1, Outcome::timed_out);
  }
  SUBCASE("the source was mended since") {
    shop.fail(4096, 32);
    shop.write_source("__global__ void scale() { /* right */ }");
  }
  SUBCASE("it passed when it was tried again") {
    shop.fail(4096, 32);
    shop.measure(4096, 32, 1.0);
  }
  SUBCASE("another architecture") { shop.measure(4096, 32, 0, 1, "sm_80", Outcome::wrong_result); }
  CHECK(shop.call(shop.kernel(), 1024).image == "BLOCK=32 ");
}

TEST_CASE("the nearest problem's best is skipped if it is known to fail for the requested one") {
  Shop shop;
  shop.measure(4096, 32, 1.0);
  shop.measure(4096, 64, 2.0);
  shop.measure(8192, 128, 0.5);
  shop.fail(1024, 32);
  CHECK(shop.call(shop.kernel(), 1024).image == "BLOCK=64 ");
  Choice choice = shop.kernel().choice(asked);
  CHECK(choice.kind == Choice::Kind::nearest);
  CHECK(any_holds(choice.reasons, "skipped: BLOCK=32 ITEMS=1 failed for N=1024 (wrong_result: y[3] is 7)"));
  CHECK(shop.call(shop.kernel(), 4096).image == "BLOCK=32 ");
  // Nearer to where it was right than to where it failed.
  CHECK(shop.call(shop.kernel(), 3000).image == "BLOCK=32 ");
  CHECK(shop.call(shop.kernel(), 1500).image == "BLOCK=64 ");
  shop.fail(1024, 64);
  CHECK(shop.call(shop.kernel(), 1024).image == "BLOCK=128 ");
  shop.fail(1024, 128);
  const Kernel kernel = shop.kernel();
  CHECK(holds(test::error_of([&] { shop.call(kernel, 1024); }, ErrorKind::nothing_valid), "BLOCK=32 ITEMS=1 failed"));
}

TEST_CASE("a bucket's best and another architecture's are skipped likewise") {
  Shop shop;
  SUBCASE("bucket") {
    shop.more = "[dispatch]\nkey = [\"pow2(N)\"]\n";
    shop.measure(1000, 32, 1.0);
    shop.measure(1000, 64, 2.0);
  }
  SUBCASE("another architecture") {
    shop.settings.other_architectures = true;
    shop.measure(1024, 32, 1.0, 1, "sm_80");
    shop.measure(1024, 64, 2.0, 1, "sm_80");
  }
  SUBCASE("other goals than the time") {
    shop.more = "[objective]\nminimize = [\"2 * time_s\"]\n";
    shop.measure(1000, 32, 1.0);
    shop.measure(1000, 64, 2.0);
  }
  CHECK(shop.kernel().choice(asked).kind != Choice::Kind::none);
  CHECK(shop.kernel().choice(asked).config.at("BLOCK") == Value(std::int64_t{32}));
  shop.fail(1024, 32);
  CHECK(shop.kernel().choice(asked).config.at("BLOCK") == Value(std::int64_t{64}));
}

TEST_CASE("a fallback for what does not run is none that is known to fail") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  shop.fail(4096, 32, 1);
  shop.fail(4096, 32, 2);
  shop.runtime->refused_image = "BLOCK=128";
  CHECK(shop.call(shop.kernel(), 1024).image == "BLOCK=64 ");
}

TEST_CASE("a problem whose default is known to fail is tuned where the policy says so") {
  Shop shop;
  shop.fail(4096, 32);
  int tuned = 0;
  shop.tuner = [&](const Bindings& problem, const DeviceInfo&, const std::stop_token&) {
    ++tuned;
    shop.measure(std::get<std::int64_t>(problem.at("N")), 64, 1.0);
    return dispatch::Tuned{};
  };
  SUBCASE("before the call") {
    shop.settings.policy = Policy::tune_once;
    CHECK(shop.call(shop.kernel(), 1024).image == "BLOCK=64 ");
  }
  SUBCASE("in the background: until then calls are errors") {
    shop.settings.policy = Policy::tune_in_background;
    const Kernel kernel = shop.kernel();
    CHECK(holds(test::error_of([&] { shop.call(kernel, 1024); }, ErrorKind::nothing_valid), "failed for N=4096"));
    kernel.wait();
    CHECK(shop.call(kernel, 1024).image == "BLOCK=64 ");
  }
  CHECK(tuned == 1);
  CHECK(shop.runtime->launches().size() == 1);
}

TEST_CASE("of a configuration's launches the nearest that hold decide") {
  const DeviceInfo here = *known_device("sm_90");
  DeviceInfo sibling = here, elsewhere = *known_device("sm_80");
  sibling.compute_units += 1;
  const auto of = [](std::int64_t n) { return Bindings{{"N", n}}; };
  const std::vector<Bindings> problems{of(256), of(1024), of(4096), {{"M", std::int64_t{1}}}};
  const auto against = [&](const std::vector<PastLaunch>& launches, std::size_t not_held = 99) {
    return objection(launches, asked, here, [=](std::size_t i) { return i != not_held; });
  };
  CHECK_FALSE(against({}));
  CHECK(against({{&problems[0], &here, true, 9}, {&problems[2], &here, false, 1}}) == 1);
  CHECK_FALSE(against({{&problems[1], &here, true, 1}, {&problems[2], &here, false, 9}}));
  CHECK_FALSE(against({{&problems[1], &here, false, 1}, {&problems[1], &here, true, 2}}));
  CHECK(against({{&problems[1], &here, false, 2}, {&problems[1], &here, true, 1}}) == 0);
  CHECK(against({{&problems[1], &here, false, 1}, {&problems[1], &here, true, 2}}, 1) == 0);
  CHECK_FALSE(against({{&problems[1], &sibling, false, 1}, {&problems[1], &here, true, 1}}));
  CHECK(against({{&problems[1], &sibling, false, 1}, {&problems[2], &here, true, 1}}) == 0);
  CHECK_FALSE(against({{&problems[1], &elsewhere, false, 1}}));
  CHECK(against({{&problems[3], &here, false, 1}}) == 0);
  CHECK_FALSE(against({{&problems[3], &here, false, 1}, {&problems[2], &here, true, 1}}));
}

}  // namespace xtune

// The result of a tuning run for later calls: a winner that is in no store, or the fact that nothing passes.
#include <algorithm>

#include "unit/dispatch/shop.hpp"

using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::store;

namespace xtune {

namespace {

/// A winner that the shop's own store has never seen: measured into another one.
dispatch::Tuned unkept(Shop& shop, const Bindings& problem, std::int64_t block) {
  const std::filesystem::path own = shop.settings.store;
  shop.settings.store = shop.folder.path() / "elsewhere";
  shop.measure(std::get<std::int64_t>(problem.at("N")), block, 1.0);
  dispatch::Tuned tuned;
  tuned.winner = read_records(shop.settings.store, "sm_90", "scale").records.back();
  tuned.artifact = ArtifactCache(shop.settings.store).read(tuned.winner->artifact_key);
  tuned.not_kept = "no space left";
  shop.settings.store = own;
  return tuned;
}

dispatch::Tuned all_wrong(const std::vector<std::int64_t>& blocks) {
  dispatch::Tuned tuned;
  for (const std::int64_t block : blocks)
    for (const std::int64_t items : {1, 2}) tuned.failed.insert(Bindings{{"BLOCK", block}, {"ITEMS", items}});
  tuned.failures = "none of them passed: 4 wrong_result. The first failure (wrong_result): y[3] is 7";
  return tuned;
}

std::size_t runs_of(const Shop& shop, const std::string& image) {
  const auto launches = shop.runtime->launches();
  return static_cast<std::size_t>(
      std::count_if(launches.begin(), launches.end(), [&](const auto& launch) { return launch.image == image; }));
}

}  // namespace

TEST_CASE("a winner that the store does not keep serves the process, which is said once") {
  Shop shop;
  int tuned = 0;
  shop.settings.compile = false;  // its artifact is remembered, too
  shop.settings.policy = Policy::tune_once;
  shop.tuner = [&](const Bindings& problem, const DeviceInfo&, const std::stop_token&) {
    ++tuned;
    return unkept(shop, problem, 128);
  };
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 2048).image == "BLOCK=128 ");
  CHECK(shop.call(kernel, 1024).image == "BLOCK=128 ");
  CHECK(shop.call(kernel, 2048).image == "BLOCK=128 ");
  CHECK(tuned == 2);
  const Choice choice = kernel.choice({{"N", std::int64_t{2048}}});
  CHECK(choice.kind == Choice::Kind::exact);
  CHECK(choice.time_ms == 1.0);
  CHECK(holds(choice.reasons.back(), "by this process"));
  REQUIRE(shop.messages.size() == 1);
  CHECK(holds(shop.messages.front(), "scale: tuned results serve only this process"));
  CHECK(holds(shop.messages.front(), shop.settings.store.string() + " does not keep them: no space left"));
}

TEST_CASE("a winner that the store does not keep takes over from the background, for its neighbours too") {
  Shop shop;
  shop.settings.policy = Policy::tune_in_background;
  shop.tuner = [&](const Bindings& problem, const DeviceInfo&, const std::stop_token&) {
    return unkept(shop, problem, 128);
  };
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 2048).image == "BLOCK=32 ");
  kernel.wait();
  CHECK(shop.call(kernel, 2048).image == "BLOCK=128 ");
  CHECK(kernel.choice({{"N", std::int64_t{2000}}}).kind == Choice::Kind::nearest);
  CHECK(shop.call(kernel, 2000).image == "BLOCK=128 ");
  kernel.wait();
  CHECK(shop.messages.size() == 1);
}

TEST_CASE("where everything failed, tune_once says so and launches nothing, now and later") {
  Shop shop;
  int tuned = 0;
  shop.settings.policy = Policy::tune_once;
  shop.tuner = [&](const Bindings&, const DeviceInfo&, const std::stop_token&) {
    ++tuned;
    return all_wrong({32, 64, 128});
  };
  const Kernel kernel = shop.kernel();
  const std::string error = test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::nothing_valid);
  CHECK(holds(error, "scale, N=4096: none of them passed: 4 wrong_result"));
  CHECK(holds(error, "y[3] is 7"));
  CHECK(test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::nothing_valid) == error);
  CHECK(test::error_of([&] { kernel.prepare({{"N", std::int64_t{4096}}}); }, ErrorKind::nothing_valid) == error);
  CHECK(test::error_of([&] { kernel.choice({{"N", std::int64_t{4096}}}); }, ErrorKind::nothing_valid) == error);
  CHECK(tuned == 1);
  CHECK(shop.runtime->launches().empty());
}

TEST_CASE("where everything failed in the background, later calls say so") {
  Shop shop;
  int tuned = 0;
  shop.settings.policy = Policy::tune_in_background;
  shop.tuner = [&](const Bindings&, const DeviceInfo&, const std::stop_token&) {
    ++tuned;
    return all_wrong({32, 64, 128});
  };
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=32 ");  // nothing is known yet
  kernel.wait();
  for (int i = 0; i < 2; ++i)
    CHECK(holds(test::error_of([&] { shop.call(kernel, 4096); }, ErrorKind::nothing_valid), "4 wrong_result"));
  CHECK(holds(test::error_of(
                  [&] {
                    kernel.prepare({{"N", std::int64_t{4096}}});
                  },
                  ErrorKind::nothing_valid),
              "y[3] is 7"));
  CHECK(tuned == 1);
  CHECK(shop.runtime->launches().size() == 1);
}

TEST_CASE("a default configuration that was not among the failures runs with a warning") {
  for (const Policy policy : {Policy::tune_once, Policy::tune_in_background}) {
    Shop shop;
    shop.settings.policy = policy;
    shop.settings.default_config = {{"BLOCK", std::int64_t{128}}, {"ITEMS", std::int64_t{1}}};
    shop.tuner = [](const Bindings&, const DeviceInfo&, const std::stop_token&) { return all_wrong({32, 64}); };
    const Kernel kernel = shop.kernel();
    shop.call(kernel, 4096);
    kernel.wait();
    shop.call(kernel, 4096);
    CHECK(runs_of(shop, "BLOCK=128 ") == 2);
    REQUIRE(shop.messages.size() == 1);
    CHECK(holds(shop.messages.front(), "y[3] is 7. It runs BLOCK=128 ITEMS=1, which was not tried"));
  }
}

TEST_CASE("the nearest problem's configuration does not run where it has failed") {
  Shop shop;
  shop.measure(1024, 64, 1.0);
  shop.settings.policy = Policy::tune_once;
  shop.tuner = [](const Bindings&, const DeviceInfo&, const std::stop_token&) { return all_wrong({64}); };
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=32 ");
  CHECK(kernel.choice({{"N", std::int64_t{4096}}}).kind == Choice::Kind::none);
  CHECK(shop.call(kernel, 1024).image == "BLOCK=64 ");
}

TEST_CASE("damage of a store is reported once for each cause, with a count") {
  Shop shop;
  shop.measure(4096, 128, 1.0);
  for (const auto& file : std::filesystem::recursive_directory_iterator(shop.settings.store / "records")) {
    if (!file.is_regular_file()) continue;
    std::ofstream damaged(file.path(), std::ios::app);
    for (int i = 0; i < 12; ++i) damaged << "{\"x\n";
  }
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=128 ");
  REQUIRE(shop.messages.size() == 1);
  CHECK(holds(shop.messages.front(), "(12 times)"));
}

}  // namespace xtune

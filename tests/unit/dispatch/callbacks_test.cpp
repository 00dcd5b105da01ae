// Callbacks that call back, throw, or drop the kernel that called them; and the state of a kernel after a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <optional>

#include "unit/dispatch/shop.hpp"

using namespace xtune::device;

namespace xtune {

TEST_CASE("a kernel that was moved from still is one") {
  Shop shop;
  Kernel kernel = shop.kernel();
  const Kernel other = std::move(kernel);
  CHECK(shop.call(other, 64).image == "BLOCK=32 ");
  CHECK(shop.call(kernel, 64).image == "BLOCK=32 ");  // NOLINT(bugprone-use-after-move)
  CHECK(shop.runtime->loads == 1);
}

TEST_CASE("a callback that calls its own kernel for a new problem gets an error, not a deadlock") {
  Shop shop;
  std::optional<Kernel> kernel;
  std::string error;
  const auto call_back = [&] { error = test::error_of([&] { shop.call(*kernel, 64); }, ErrorKind::invalid_argument); };
  SUBCASE("while it tunes") {
    shop.settings.policy = Policy::tune_once;
    shop.tuner = [&](const Bindings&, const DeviceInfo&, const std::stop_token&) {
      call_back();
      return dispatch::Tuned{};
    };
  }
  SUBCASE("while it is told something") {
    shop.measure(4096, 128, 1.0);
    shop.runtime->refused_image = "BLOCK=128";
    shop.settings.on_message = [&](const std::string&) { call_back(); };
  }
  kernel = shop.kernel();
  CHECK(shop.call(*kernel, 4096).image == "BLOCK=32 ");
  CHECK(holds(error, "scale, N=64: a callback that was called while another problem is prepared"));
  CHECK(shop.call(*kernel, 64).image == "BLOCK=32 ");
}

TEST_CASE("exceptions of on_message are dropped") {
  Shop shop;
  shop.settings.on_message = [](const std::string& text) { throw std::runtime_error(text); };
  SUBCASE("in a call") {
    shop.measure(4096, 128, 1.0);
    shop.runtime->refused_image = "BLOCK=128";
  }
  SUBCASE("in the background") {
    shop.settings.policy = Policy::tune_in_background;
    shop.tuner = [](const Bindings&, const DeviceInfo&, const std::stop_token&) -> dispatch::Tuned { throw 5; };
  }
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=32 ");
  kernel.wait();
}

TEST_CASE("a callback of the background's tuning cannot wait for it, and may drop the last kernel") {
  Shop shop;
  shop.settings.policy = Policy::tune_in_background;
  std::optional<Kernel> kernel;
  std::promise<void> called, dropped;
  std::string error;
  shop.tuner = [&](const Bindings&, const DeviceInfo&, const std::stop_token& stop) {
    called.get_future().wait();
    error = test::error_of([&] { kernel->wait(); }, ErrorKind::invalid_argument);
    CHECK_FALSE(stop.stop_requested());
    kernel.reset();
    return dispatch::Tuned{};
  };
  shop.kept = std::shared_ptr<const void>(&shop, [&](const void*) { dropped.set_value(); });
  kernel = shop.kernel();
  shop.kept.reset();
  CHECK(shop.call(*kernel, 4096).image == "BLOCK=32 ");
  called.set_value();
  dropped.get_future().wait();
  CHECK(holds(error, "scale: a callback of the tuning in the background waits for that tuning"));
}

#ifndef __SANITIZE_THREAD__  // which does not do threads after a fork
TEST_CASE("the child of a fork goes on with a kernel whose background thread stayed in the parent") {
  Shop shop;
  shop.settings.policy = Policy::tune_in_background;
  int tuned = 0;
  shop.tuner = [&](const Bindings& problem, const DeviceInfo&, const std::stop_token&) {
    ++tuned;
    shop.measure(std::get<std::int64_t>(problem.at("N")), 128, 1.0);
    return dispatch::Tuned{};
  };
  std::optional<Kernel> kernel = shop.kernel();
  shop.call(*kernel, 4096);
  kernel->wait();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // ends a process that hangs
    shop.call(*kernel, 64);
    kernel->wait();
    const bool right = shop.call(*kernel, 64).image == "BLOCK=128 " && tuned == 2;
    kernel.reset();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
#endif

}  // namespace xtune

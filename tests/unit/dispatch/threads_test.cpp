// Many threads on one kernel, and tuning while they launch.
#include <atomic>
#include <condition_variable>
#include <thread>

#include "unit/dispatch/shop.hpp"

using namespace xtune::device;

namespace xtune {

namespace {
void on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}
}  // namespace

TEST_CASE("threads get the launch of their own problem") {
  Shop shop;
  shop.settings.checked = false;
  const Kernel kernel = shop.kernel();
  on_threads(4, [&](int thread) {
    for (std::int32_t i = 0; i < 50; ++i) {
      const std::int32_t n = 32 * (1 + (i * 7 + thread * 13) % 60);
      kernel(nullptr, static_cast<const float*>(shop.x.data()), shop.y.data(), n, 1.0F);
    }
  });
  CHECK(shop.runtime->launches().size() == 200);
  for (const auto& launch : shop.runtime->launches()) {
    std::int32_t n = 0;
    std::memcpy(&n, launch.parameters[2].data(), sizeof n);
    CHECK(launch.launch.grid[0] == static_cast<std::uint32_t>(n / 32));
  }
  CHECK(shop.compiled == 1);
}

TEST_CASE("tune_once tunes a new problem before its first launch, and only then") {
  Shop shop;
  int tuned = 0;
  shop.settings.policy = Policy::tune_once;
  shop.tuner = [&](const Bindings& problem, const DeviceInfo&, const std::stop_token&) {
    ++tuned;
    shop.measure(std::get<std::int64_t>(problem.at("N")), 128, 1.0);
    return dispatch::Tuned();
  };
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 2048).image == "BLOCK=128 ");
  CHECK(shop.call(kernel, 2048).image == "BLOCK=128 ");
  CHECK(tuned == 1);
  shop.call(kernel, 1024);
  CHECK(tuned == 2);
}

TEST_CASE("the winner of tuning in the background takes over while others launch") {
  Shop shop;
  shop.settings.policy = Policy::tune_in_background;
  std::mutex mutex;
  std::condition_variable changed;
  bool may_go_on = false;
  shop.tuner = [&](const Bindings&, const DeviceInfo&, const std::stop_token&) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return may_go_on; });
    shop.measure(4096, 128, 1.0);
    return dispatch::Tuned();
  };
  const Kernel kernel = shop.kernel();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=32 ");
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) kernel(nullptr, static_cast<const float*>(shop.x.data()), shop.y.data(), 4096, 2.0F);
  });
  {
    const std::lock_guard lock(mutex);
    may_go_on = true;
  }
  changed.notify_all();
  kernel.wait();
  done = true;
  other.join();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=128 ");
  for (const auto& launch : shop.runtime->launches())
    CHECK(launch.launch.grid[0] == (launch.image == "BLOCK=128 " ? 32 : 128));
  CHECK(shop.messages.empty());
}

TEST_CASE("failed tuning is reported once and does not fail a call") {
  Shop shop;
  shop.settings.policy = Policy::tune_in_background;
  shop.tuner = [](const Bindings&, const DeviceInfo&, const std::stop_token&) -> dispatch::Tuned {
    throw Error(ErrorKind::unavailable, "no tuner here");
  };
  const Kernel kernel = shop.kernel();
  shop.call(kernel, 4096);
  kernel.wait();
  CHECK(shop.call(kernel, 4096).image == "BLOCK=32 ");
  REQUIRE(shop.messages.size() == 1);
  CHECK(holds(shop.messages.front(), "scale, N=4096: not tuned: no tuner here"));
}

TEST_CASE("a callback that throws no exception of the standard's costs no call either") {
  for (const Policy policy : {Policy::tune_in_background, Policy::tune_once}) {
    Shop shop;
    shop.settings.policy = policy;
    shop.tuner = [](const Bindings&, const DeviceInfo&, const std::stop_token&) -> dispatch::Tuned { throw 5; };
    const Kernel kernel = shop.kernel();
    CHECK(shop.call(kernel, 4096).image == "BLOCK=32 ");
    kernel.wait();
    REQUIRE(shop.messages.size() == 1);
    CHECK(holds(shop.messages.front(), "scale, N=4096: not tuned: a callback threw"));
  }
}

TEST_CASE("a kernel that goes stops its tuning") {
  Shop shop;
  std::atomic<bool> began{false}, saw_stop{false};
  shop.settings.policy = Policy::tune_in_background;
  shop.tuner = [&](const Bindings&, const DeviceInfo&, const std::stop_token& stop) -> dispatch::Tuned {
    began = true;
    while (!stop.stop_requested()) std::this_thread::yield();
    saw_stop = true;
    throw Error(ErrorKind::interrupted, "stopped");
  };
  {
    const Kernel kernel = shop.kernel();
    shop.call(kernel, 4096);
    while (!began) std::this_thread::yield();
  }
  CHECK(saw_stop);
  CHECK(shop.messages.empty());
}

TEST_CASE("a table finds all that was put in, the newest of each key, while it grows") {
  dispatch::Table table;
  const auto key_of = [](std::uint64_t number) {
    dispatch::Key key;
    key.words[0] = 1;
    key.words[1] = number;
    key.count = 2;
    return key;
  };
  const auto put = [&](std::uint64_t number, std::uint32_t grid) {
    dispatch::Prepared entry;
    entry.key = key_of(number);
    entry.steps.resize(1);
    entry.steps[0].launch.grid[0] = grid;
    return table.put(std::move(entry));
  };
  const dispatch::Prepared* const first = put(0, 7);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      const dispatch::Key key = key_of(0);
      const dispatch::Prepared* const found = table.find(key, key.hash());
      if (!found || (found->steps[0].launch.grid[0] != 7 && found->steps[0].launch.grid[0] != 8)) {
        FAIL_CHECK("lost");
        return;
      }
    }
  });
  for (std::uint64_t i = 1; i < 3000; ++i) put(i, static_cast<std::uint32_t>(i));
  put(0, 8);
  done = true;
  reader.join();
  CHECK(table.size() == 3000);
  for (std::uint64_t i = 1; i < 3000; ++i) {
    const dispatch::Key key = key_of(i);
    const dispatch::Prepared* const found = table.find(key, key.hash());
    REQUIRE(found);
    CHECK(found->steps[0].launch.grid[0] == i);
  }
  CHECK(first->steps[0].launch.grid[0] == 7);
  const dispatch::Key missing = key_of(5000);
  CHECK(table.find(missing, missing.hash()) == nullptr);
}

}  // namespace xtune

// The event loop: order of timers and posts, cancelling from inside, signals, exceptions, no lost wake-ups.
#include "system/event_loop.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "xtune/error.hpp"

using xtune::system::EventLoop;

TEST_CASE("timers fire once, the shorter first") {
  EventLoop loop;
  std::vector<int> order;
  const auto late = loop.call_after(30, [&] { order.push_back(2); });
  const auto early = loop.call_after(5, [&] { order.push_back(1); });
  CHECK(late.active());
  loop.run();
  CHECK(order == std::vector{1, 2});
  CHECK_FALSE(late.active());
}

TEST_CASE("what only accompanies the work happens beside it, and is nothing to wait for") {
  EventLoop loop;
  int aside = 0;
  EventLoop::Watch tick;
  const std::function<void()> again = [&] {
    ++aside;
    tick = loop.call_aside(1, again);
  };
  tick = loop.call_aside(0, again);
  CHECK_FALSE(loop.run_once());
  const auto work = loop.call_after(20, [] {});
  loop.run();
  CHECK(aside > 0);
  const int before = aside;
  tick.cancel();
  const auto more = loop.call_after(5, [] {});
  loop.run();
  CHECK(aside == before);
}

TEST_CASE("a cancelled, destroyed or replaced timer never fires") {
  EventLoop loop;
  int fired = 0;
  auto cancelled = loop.call_after(0, [&] { ++fired; });
  cancelled.cancel();
  cancelled.cancel();
  {
    const auto destroyed = loop.call_after(0, [&] { ++fired; });
  }
  auto replaced = loop.call_after(0, [&] { ++fired; });
  replaced = loop.call_after(1, [&] { fired += 10; });
  loop.run();
  CHECK(fired == 10);
}

TEST_CASE("a timer may destroy its own watch, and what it captured, from inside") {
  EventLoop loop;
  std::optional<EventLoop::Watch> watch;
  auto captured = std::make_shared<int>(7);
  const std::weak_ptr<int> alive = captured;
  int seen = 0;
  watch = loop.call_after(1, [&, captured] {
    watch.reset();
    seen = *captured;
  });
  captured.reset();
  loop.run();
  CHECK(seen == 7);
  CHECK(alive.expired());
}

TEST_CASE("posted calls run in order, and what they post runs at the next turn") {
  EventLoop loop;
  std::vector<int> order;
  loop.post([&] {
    order.push_back(1);
    loop.post([&] { order.push_back(3); });
  });
  loop.post([&] { order.push_back(2); });
  loop.run_once();
  CHECK(order == std::vector{1, 2});
  loop.run();
  CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE("an endless chain of posts does not shut out timers") {
  EventLoop loop;
  bool fired = false;
  std::function<void()> again = [&] {
    if (!fired) loop.post(again);
  };
  again();
  const auto timer = loop.call_after(2, [&] { fired = true; });
  CHECK(loop.run_until([&] { return fired; }));
}

TEST_CASE("run_until sees what a posted call did without waiting for another event") {
  EventLoop loop;
  bool done = false, late = false;
  const auto far = loop.call_after(3600 * 1000, [&] { late = true; });
  loop.post([&] { done = true; });
  CHECK(loop.run_until([&] { return done; }));
  CHECK_FALSE(late);
}

TEST_CASE("run_until says when nothing is left to wait for") {
  EventLoop loop;
  CHECK_FALSE(loop.run_until([] { return false; }));
  CHECK(loop.run_until([] { return true; }));
}

TEST_CASE("signals arrive at every watch, again and again, until cancelled") {
  EventLoop loop;
  int first = 0, second = 0;
  auto watch = loop.on_signal(SIGTERM, [&] { ++first; });
  const auto other = loop.on_signal(SIGTERM, [&] { ++second; });
  const auto far = loop.call_after(3600 * 1000, [] {});
  kill(getpid(), SIGTERM);
  CHECK(loop.run_until([&] { return first == 1 && second == 1; }));
  kill(getpid(), SIGTERM);
  CHECK(loop.run_until([&] { return first == 2 && second == 2; }));
  watch.cancel();
  kill(getpid(), SIGTERM);
  CHECK(loop.run_until([&] { return second == 3; }));
  CHECK(first == 2);
}

TEST_CASE("signal watches do not keep a loop running, and impossible signals are refused") {
  EventLoop loop;
  const auto watch = loop.on_signal(SIGUSR1, [] {});
  CHECK_FALSE(loop.run_once());
  CHECK_THROWS_AS((void)loop.on_signal(SIGKILL, [] {}), xtune::Error);
  CHECK_THROWS_AS((void)loop.on_signal(-1, [] {}), xtune::Error);
}

TEST_CASE("an exception leaves through run, and the loop stays usable") {
  EventLoop loop;
  bool later = false;
  const auto timer = loop.call_after(1, [] { throw std::runtime_error("from a callback"); });
  const auto far = loop.call_after(3600 * 1000, [] {});
  CHECK_THROWS_WITH(loop.run(), "from a callback");
  const auto next = loop.call_after(1, [&] { later = true; });
  CHECK(loop.run_until([&] { return later; }));
  loop.post([] { throw std::runtime_error("from a post"); });
  CHECK_THROWS_WITH(loop.run_once(), "from a post");
}

TEST_CASE("a process without standard streams may have a loop") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int stream : {0, 1, 2}) ::close(stream);
    {
      EventLoop loop;
      bool later = false;
      const auto timer = loop.call_after(1, [&] { later = true; });
      loop.run_until([&] { return later; });
    }
    _exit(::fcntl(2, F_GETFD) == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("two loops of one thread both get a signal") {
  EventLoop outer;
  int seen_outer = 0;
  const auto watch = outer.on_signal(SIGUSR1, [&] { ++seen_outer; });
  const auto far = outer.call_after(3600 * 1000, [] {});
  {
    EventLoop inner;
    int seen_inner = 0;
    const auto inner_watch = inner.on_signal(SIGUSR1, [&] { ++seen_inner; });
    const auto inner_far = inner.call_after(3600 * 1000, [] {});
    kill(getpid(), SIGUSR1);
    CHECK(inner.run_until([&] { return seen_inner == 1; }));
  }
  CHECK(outer.run_until([&] { return seen_outer == 1; }));
}

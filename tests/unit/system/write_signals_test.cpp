// Failed writes without signals, and loops that do not change the program's signals.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"
#include "system/subprocess.hpp"

using namespace xtune::system;

using namespace xtune;

namespace {

volatile std::sig_atomic_t arrived = 0;

/// A handler that counts, as long as it lives.
struct Counting {
  explicit Counting(int signum_) : signum(signum_) {
    arrived = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { arrived = arrived + 1; };
    action.sa_flags = SA_RESTART;
    sigaction(signum, &action, &before);
  }
  ~Counting() { sigaction(signum, &before, nullptr); }
  bool stands() const {
    struct sigaction now {};
    sigaction(signum, nullptr, &now);
    return now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN && now.sa_flags & SA_RESTART;
  }
  int signum;
  struct sigaction before {};
};

int write_to_nobody() {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  const int reason = write(ends[1], "x", 1) < 0 ? errno : 0;
  close(ends[1]);
  return reason;
}

bool blocked(int signum) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, signum) == 1;
}

bool pending(int signum) {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, signum) == 1;
}

}  // namespace

TEST_CASE("a write without a reader is an error code, and leaves no signal pending") {
  const Counting handler(SIGPIPE);
  {
    const WriteSignals quiet;
    CHECK(write_to_nobody() == EPIPE);
    {
      const WriteSignals nested;
      CHECK(write_to_nobody() == EPIPE);
    }
    CHECK(blocked(SIGPIPE));
    CHECK(write_to_nobody() == EPIPE);
  }
  CHECK_FALSE(blocked(SIGPIPE));
  CHECK_FALSE(pending(SIGPIPE));
  CHECK(arrived == 0);
  CHECK(write_to_nobody() == EPIPE);
  CHECK(arrived == 1);
}

TEST_CASE("a signal that waited before still waits") {
  const Counting handler(SIGPIPE);
  sigset_t own, before;
  sigemptyset(&own);
  sigaddset(&own, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &own, &before);
  pthread_kill(pthread_self(), SIGPIPE);
  {
    const WriteSignals quiet;
    CHECK(write_to_nobody() == EPIPE);
  }
  CHECK(pending(SIGPIPE));
  CHECK(blocked(SIGPIPE));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(arrived == 1);
}

TEST_CASE("loops and children do not change the program's handlers") {
  const Counting pipe_handler(SIGPIPE), size_handler(SIGXFSZ), child_handler(SIGCHLD);
  std::size_t ended = 0;
  {
    EventLoop loop;
    const EventLoop other;
    SubprocessOptions options;
    options.argv = {"/bin/sh", "-c", "exec <&-; sleep 0.05"};
    options.on_exit = [&](int, int) {
      ++ended;
      CHECK(pipe_handler.stands());
      CHECK(size_handler.stands());
    };
    Subprocess child(loop, options);
    // More than fits into a pipe: bytes that are written after the child has closed its end fail.
    child.write(std::string(std::size_t{1} << 20, 'x'));
    CHECK(loop.run_until([&] { return ended > 0; }));
  }
  CHECK(ended == 1);
  CHECK(pipe_handler.stands());
  CHECK(size_handler.stands());
  CHECK(child_handler.stands());
  CHECK(arrived == 1);  // the hint that children may have ended
}

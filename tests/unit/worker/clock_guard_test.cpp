// Fixed clocks are restored on every way out, by a process of their own.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "system/files.hpp"
#include "system/processes.hpp"
#include "worker/ipc/locked_clocks.hpp"
#include "xtune/error.hpp"

using namespace xtune;

namespace {

struct Clocks {
  system::TemporaryDirectory folder;
  std::vector<std::string> words(int mhz = 0) const {
    return {XTUNE_FAKE_CLOCK_GUARD, folder.path().string(), std::to_string(mhz), "0", "3"};
  }
  bool fixed(int device) const { return std::filesystem::exists(folder.path() / std::to_string(device)); }
  void touch(const std::string& name) const { std::ofstream(folder.path() / name) << "x"; }
  /// False if they stay fixed for longer than any machine needs.
  bool become_free() const {
    for (int i = 0; i < 3000 && (fixed(0) || fixed(3)); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return !fixed(0) && !fixed(3);
  }
};

/// The only child of this process.
int guard_pid() {
  const std::vector<int> children = system::children_of(getpid());
  return children.size() == 1 ? children.front() : 0;
}

}  // namespace

TEST_CASE("clocks are fixed as long as the object lives") {
  const Clocks clocks;
  {
    worker::LockedClocks locked(clocks.words(1410));
    CHECK(locked.mhz() == std::vector<int>{1410, 1410});
    CHECK(clocks.fixed(0));
    CHECK(clocks.fixed(3));
    CHECK(locked.restore() == "");
    CHECK_FALSE(clocks.fixed(0));
    CHECK_FALSE(clocks.fixed(3));
  }
  { const worker::LockedClocks locked(clocks.words()); }
  CHECK_FALSE(clocks.fixed(0));
}

TEST_CASE("an exception restores clocks, and signals to all processes leave them to the object") {
  const Clocks clocks;
  try {
    const worker::LockedClocks locked(clocks.words());
    const int guard = guard_pid();
    REQUIRE(guard > 0);
    for (const int signum : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) kill(guard, signum);
    CHECK(clocks.fixed(0));
    throw std::runtime_error("something else failed");
  } catch (const std::runtime_error&) {
  }
  CHECK_FALSE(clocks.fixed(0));
  CHECK_FALSE(clocks.fixed(3));
}

TEST_CASE("a driver that is killed leaves no clock fixed") {
  const Clocks clocks;
  int ready[2];
  REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
  const pid_t driver = fork();
  REQUIRE(driver >= 0);
  if (driver == 0) {
    const worker::LockedClocks locked(clocks.words());
    const char byte = clocks.fixed(0) && clocks.fixed(3) ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  CHECK(byte == 'y');
  kill(driver, SIGKILL);
  waitpid(driver, nullptr, 0);
  CHECK(clocks.become_free());
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("if one device's clock cannot be fixed, none is, and the reason is an error") {
  const Clocks clocks;
  clocks.touch("3.forbidden");
  try {
    const worker::LockedClocks locked(clocks.words());
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unavailable);
    CHECK(std::string(error.what()) == "no permission for 3");
  }
  CHECK_FALSE(clocks.fixed(0));
  CHECK_THROWS_AS(worker::LockedClocks({"/bin/false"}), Error);
}

TEST_CASE("if another device's clock cannot be restored either, the error has the command that does it") {
  const Clocks clocks;
  clocks.touch("3.forbidden");
  clocks.touch("stuck");
  CHECK_THROWS_WITH_AS(
      worker::LockedClocks(clocks.words()),
      "no permission for 3; clocks fixed before that are not restored (it is stuck); this does it: rm 0", Error);
}

TEST_CASE("clocks that could not be restored are named, with the commands that do it") {
  const Clocks clocks;
  clocks.touch("stuck");
  {
    worker::LockedClocks stuck(clocks.words());
    CHECK(stuck.restore() == "the clocks are not restored (it is stuck; it is stuck); this does it: rm 0; rm 3");
  }
  std::filesystem::remove(clocks.folder.path() / "stuck");
  worker::LockedClocks killed(clocks.words());
  const int guard = guard_pid();
  REQUIRE(guard > 0);
  kill(guard, SIGKILL);
  CHECK(killed.restore() ==
        "the clocks are not restored (the process that guards them is gone); this does it: rm 0; rm 3");
}

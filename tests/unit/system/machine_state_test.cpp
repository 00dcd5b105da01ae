// Whether a directory can be written, which errnos are caused by the machine, and kills for lack of memory.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "fakes/environment_variable.hpp"
#include "fakes/limited_directory.hpp"
#include "system/clock.hpp"
#include "system/files.hpp"
#include "system/machine.hpp"
#include "system/subprocess.hpp"

using namespace xtune::system;

using namespace xtune;
namespace fs = std::filesystem;

TEST_CASE("a directory with room takes files and programs, and is left as it was") {
  const TemporaryDirectory folder;
  CHECK(room_error(folder.path()) == 0);
  CHECK(allows_programs(folder.path()));
  CHECK(fs::is_empty(folder.path()));
  CHECK(room_error(folder.path() / "missing") == ENOENT);
  CHECK(allows_programs(folder.path() / "missing"));
}

TEST_CASE("a full disk, a read-only one and one without programs are distinguished") {
  const fakes::LimitedDirectory small("size=512k"), forbids("noexec,size=8m"), locked("ro,size=8m");
  if (!small.mounted() || !forbids.mounted() || !locked.mounted()) {
    MESSAGE("skipped: this user cannot mount");
    return;
  }
  CHECK(room_error(small.path()) == ENOSPC);
  CHECK(allows_programs(small.path()));
  CHECK(room_error(forbids.path()) == 0);
  CHECK_FALSE(allows_programs(forbids.path()));
  CHECK(room_error(locked.path()) == EROFS);
}

TEST_CASE("errnos of a shortage may pass, those of a wrong request do not") {
  for (const int error : {EAGAIN, ENOMEM, EMFILE, ENFILE}) {
    CHECK(is_shortage(error));
    CHECK(may_pass_soon(error));
  }
  for (const int error : {ENOSPC, EDQUOT, EROFS, EFBIG}) {
    CHECK(is_shortage(error));
    CHECK_FALSE(may_pass_soon(error));
  }
  for (const int error : {ENOENT, EACCES, ENOEXEC, E2BIG}) {
    CHECK_FALSE(is_shortage(error));
    CHECK_FALSE(may_pass_soon(error));
  }
  CHECK(may_pass_soon(ETXTBSY));
}

TEST_CASE("processes that were killed for memory are counted by the system") {
  const TemporaryDirectory root;
  CHECK(memory_kills(root.path()) == 0);
  fs::create_directories(root.path() / "proc");
  std::ofstream(root.path() / "proc/vmstat") << "pgfault 12\noom_kill 7\nworkingset 3\n";
  CHECK(memory_kills(root.path()) == 7);
}

TEST_CASE("a program that cannot be started is reported with its errno") {
  try {
    run_command({"/no/such/program"});
    FAIL("started");
  } catch (const CannotStart& failure) {
    CHECK(failure.reason() == ENOENT);
    CHECK(failure.kind() == ErrorKind::unavailable);
  }
}

TEST_CASE("the awake clock goes with the system's where nothing is suspended") {
  const SuspensionWatch one, two;
  const std::uint64_t before = suspensions();
  const std::int64_t start_ns = awake_clock().now_ns();
  CHECK(awake_clock().now_ns() >= start_ns);
  CHECK(suspensions() == before);
}

TEST_CASE("other programs' load counts where it takes more than half of the cores, over a minute and now") {
  const TemporaryDirectory root;
  fs::create_directories(root.path() / "proc");
  const auto load = [&](const std::string& text) {
    std::ofstream(root.path() / "proc/loadavg") << text;
    return is_busy(root.path(), 4);
  };
  const Variable nothing_said("XTUNE_BUSY", "");
  CHECK(load("9.71 8.20 4.05 7/512 12345\n"));
  CHECK(load("2.10 0.20 0.05 4/512 1\n"));
  CHECK_FALSE(load("9.71 8.20 4.05 1/512 12345\n"));  // it was busy, and only this process runs
  CHECK_FALSE(load("0.30 8.20 4.05 7/512 12345\n"));  // it is busy for a moment
  CHECK_FALSE(load("2.00 0.20 0.05 3/512 1\n"));
  CHECK_FALSE(load("nonsense"));
  CHECK_FALSE(is_busy(root.path() / "missing", 4));
  // The user knows it better.
  const Variable said_busy("XTUNE_BUSY", "yes");
  CHECK(load("0.00 0.00 0.00 1/512 1\n"));
  const Variable said_idle("XTUNE_BUSY", "no");
  CHECK_FALSE(load("9.71 8.20 4.05 7/512 12345\n"));
}

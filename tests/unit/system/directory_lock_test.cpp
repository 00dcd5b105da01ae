// Turns among processes: who waits, which messages are sent, and the effect of a holder's death.
#include "system/directory_lock.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "system/clock.hpp"
#include "system/files.hpp"

using namespace xtune::system;

namespace {

/// A process that holds a directory until it is killed.
struct Holder {
  explicit Holder(const std::filesystem::path& directory) {
    int ready[2] = {};
    REQUIRE(::pipe(ready) == 0);
    pid = ::fork();
    if (pid == 0) {
      const DirectoryLock lock({directory});
      if (::write(ready[1], "x", 1) == 1) ::pause();
      ::_exit(1);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() { end(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  int pid = 0;
};

}  // namespace

TEST_CASE("a directory that another process holds is waited for, until that process is killed at the latest") {
  const TemporaryDirectory folder;
  Holder holder(folder.path());
  std::vector<std::string> told;
  tell_of_waits([&](const std::string& directory) {
    told.push_back(directory);
    holder.end();
  });
  { const DirectoryLock lock({folder.path() / ".", folder.path()}); }
  CHECK(told == std::vector<std::string>{std::filesystem::canonical(folder.path()).string(), ""});
  { const DirectoryLock lock({folder.path()}); }
  CHECK(told.size() == 2);
  CHECK(has_waited_for(folder.path() / "."));
  CHECK_FALSE(has_waited_for(folder.path().parent_path()));
  tell_of_waits({});
}

TEST_CASE("the time of a wait is not the work's") {
  const TemporaryDirectory folder;
  Holder holder(folder.path());
  tell_of_waits([&](const std::string&) { holder.end(); });
  const std::int64_t awake_ns = awake_clock().now_ns(), working_ns = working_clock().now_ns();
  { const DirectoryLock lock({folder.path()}); }
  CHECK(working_clock().now_ns() - working_ns < awake_clock().now_ns() - awake_ns);
  tell_of_waits({});
}

TEST_CASE("a missing directory does not block a lock") { CHECK_NOTHROW(DirectoryLock({"/no/such/directory"})); }

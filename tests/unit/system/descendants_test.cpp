// Finding programs, and killing all that one has started.
#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/text.hpp"
#include "fakes/process_checks.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"

using namespace xtune::base;
using namespace xtune::system;

using namespace xtune;

namespace {

/// A child that starts a child in another session, and writes both ids to a pipe.
struct Family {
  int child = 0, grandchild = 0;
  Family() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    child = ::fork();
    if (child == 0) {
      const int own = ::fork();
      if (own == 0) {
        ::setsid();
        const int id = ::getpid();
        (void)!::write(ends[1], &id, sizeof id);
      }
      for (;;) ::pause();
    }
    REQUIRE(::read(ends[0], &grandchild, sizeof grandchild) == sizeof grandchild);
    ::close(ends[0]);
    ::close(ends[1]);
  }
};

bool alive(int pid) { return ::kill(pid, 0) == 0; }

}  // namespace

TEST_CASE("children are found, and killed with what they have started, but for those that are spared") {
  adopt_orphans();
  const std::vector<int> before = children_of(::getpid());
  const Family spared, doomed;
  std::vector<int> now = children_of(::getpid());
  CHECK(std::count(now.begin(), now.end(), spared.child) == 1);
  CHECK(children_of(doomed.child) == std::vector<int>{doomed.grandchild});
  std::vector<int> keep = before;
  keep.push_back(spared.child);
  CHECK(kill_children_but(keep) >= 1);
  CHECK_FALSE(alive(doomed.child));
  CHECK_FALSE(alive(doomed.grandchild));
  CHECK(alive(spared.child));
  CHECK(alive(spared.grandchild));
  // Whose parent has ended is this process' child.
  ::kill(spared.child, SIGKILL);
  ::waitpid(spared.child, nullptr, 0);
  now = children_of(::getpid());
  CHECK(std::count(now.begin(), now.end(), spared.grandchild) == 1);
  CHECK(kill_children_but(before) == 1);
  CHECK_FALSE(alive(spared.grandchild));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);  // this process does not adopt orphans of other tests
}

TEST_CASE("processes started within the scope end with it, and earlier ones stay") {
  int earlier = 0;
  {
    const Family before;
    earlier = before.child;
    int child = 0, grandchild = 0;
    {
      const Descendants descendants;
      const Family later;
      child = later.child;
      grandchild = later.grandchild;
      ::kill(child, SIGKILL);  // its child is this process' now
    }
    CHECK(fakes::is_dead(child));  // or a zombie: whose it is reaps it
    CHECK(fakes::is_dead(grandchild));
    CHECK(alive(before.child));
    CHECK(alive(before.grandchild));
  }
  kill_tree(earlier);
  ::waitpid(earlier, nullptr, 0);
  kill_children_but({});
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

TEST_CASE("a program is found in PATH, or relative to a directory if its name has a slash") {
  const TemporaryDirectory folder;
  std::filesystem::create_directories(folder.path() / "bin");
  write_file_atomically(folder.path() / "bin/tool", "#!/bin/sh\n");
  write_file_atomically(folder.path() / "bin/text", "no program\n");
  std::filesystem::permissions(folder.path() / "bin/tool", std::filesystem::perms::owner_all);
  std::filesystem::permissions(folder.path() / "bin/text", std::filesystem::perms::owner_read);
  CHECK(find_program("bin/tool", folder.path()) == (folder.path() / "bin/tool").string());
  CHECK(find_program("./bin/none", folder.path()).empty());
  CHECK(find_program("./bin", folder.path()).empty());
  CHECK(find_program("").empty());
  CHECK(find_program("no-such-program-anywhere").empty());
  CHECK(find_program("sh").ends_with("/sh"));
}

TEST_CASE("texts of several lines: what can be printed, and the end of them") {
  CHECK(printable_lines("a\nb\x01\n") == "a\nb" + printable("\x01"));
  CHECK(printable_lines("").empty());
  CHECK(end_of("one\ntwo\nthree", 20) == "one\ntwo\nthree");
  CHECK(end_of("one\ntwo\nthree", 10) == "two\nthree");
  CHECK(end_of("one\ntwo\nthree", 9) == "two\nthree");
  CHECK(end_of("one\ntwo\nthree", 8) == "three");
  CHECK(end_of("abcdef", 3) == "def");
}

TEST_CASE("A process is gone once it has ended, whether its parent has asked about it or not") {
  CHECK_FALSE(process_is_gone(::getpid()));
  CHECK_FALSE(process_is_gone(1));
  CHECK_FALSE(process_is_gone(0));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(process_is_gone(child));  // a zombie, which has the number still
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(process_is_gone(child));
}

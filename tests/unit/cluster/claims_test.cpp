// Claims: one owner each, for any simultaneous requests; owners that die, end, or seem to.
#include "cluster/claims.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "fakes/fake_clock.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::cluster;

namespace {

using namespace xtune;
namespace fs = std::filesystem;

std::atomic<int> flushed = 0;

/// Claims of a dead owner go to a process that has read its records since it found out.
bool take_in_two_looks(Claims& claims, const std::string& name) {
  claims.about_to_read();
  if (claims.take(name)) return true;
  claims.about_to_read();
  return claims.take(name);
}

}  // namespace

extern "C" int fdatasync(int file) {
  ++flushed;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

TEST_CASE("A first heartbeat is flushed, since claims of other nodes are read before the next one") {
  const TemporaryDirectory folder;
  fakes::FakeClock clock;
  const int before = flushed;
  const Claims one(folder.path(), "one", clock);
  CHECK(flushed == before + 1);
}

TEST_CASE("A claim has one owner, which may ask again") {
  const TemporaryDirectory folder;
  fakes::FakeClock clock;
  Claims one(folder.path(), "one", clock), two(folder.path(), "two", clock);
  CHECK(one.take("a"));
  CHECK_FALSE(two.take("a"));
  CHECK_FALSE(two.take("a"));
  CHECK(one.take("a"));
  CHECK(two.take("b"));
  CHECK(two.take(std::string(100'000, 'x') + "/../\n"));
  CHECK_FALSE(one.take(std::string(100'000, 'x') + "/../\n"));
  CHECK(one.owners() == std::set<std::string>{"one", "two"});
}

TEST_CASE("Of many that ask for the same at once each claim goes to one") {
  const TemporaryDirectory folder;
  constexpr int processes = 4, names = 200;
  std::array<std::vector<bool>, processes> mine;
  std::latch all_asked(processes);
  std::vector<std::thread> threads;
  for (int i = 0; i < processes; ++i)
    threads.emplace_back([&, i] {
      fakes::FakeClock clock;
      Claims claims(folder.path(), "rank" + std::to_string(i), clock);
      for (int n = 0; n < names; ++n) mine[static_cast<std::size_t>(i)].push_back(claims.take(std::to_string(n)));
      all_asked.arrive_and_wait();  // a process that ends loses its claims
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t n = 0; n < names; ++n) {
    int owners = 0;
    for (const auto& each : mine) owners += each[n];
    CHECK(owners == 1);
  }
}

TEST_CASE("An owner that has ended loses its claims, one that is silent too, one whose heart beats none") {
  const TemporaryDirectory folder;
  fakes::FakeClock clock;
  auto silent = std::make_unique<Claims>(folder.path(), "silent", clock);
  Claims beating(folder.path(), "beating", clock), heir(folder.path(), "heir", clock);
  {
    Claims ended(folder.path(), "ended", clock);
    CHECK(ended.take("of the ended"));
    CHECK(ended.take("of the ended too"));
  }
  CHECK(silent->take("of the silent"));
  CHECK(beating.take("of the beating"));
  heir.about_to_read();
  // It may have stored records that were not read yet, for any of its claims, however often one asks.
  for (int i = 0; i < 3; ++i) CHECK_FALSE(heir.take("of the ended"));
  CHECK_FALSE(heir.take("of the ended too"));
  heir.about_to_read();
  CHECK(heir.take("of the ended"));
  CHECK(heir.take("of the ended too"));
  for (int i = 0; i < 40; ++i) {
    CHECK_FALSE(take_in_two_looks(heir, "of the beating"));
    if (i < 25) CHECK_FALSE(take_in_two_looks(heir, "of the silent"));
    clock.advance_s(1);
    beating.beat();
  }
  CHECK(take_in_two_looks(heir, "of the silent"));
  // And it is the heir's now, for third ones too.
  Claims third(folder.path(), "third", clock);
  CHECK_FALSE(take_in_two_looks(third, "of the silent"));
  CHECK(third.take("another"));
  CHECK_FALSE(take_in_two_looks(heir, "another"));
}

TEST_CASE("An owner whose records still come is alive, and its heartbeat is not read") {
  const TemporaryDirectory folder;
  fakes::FakeClock clock;
  Claims one(folder.path(), "one", clock), two(folder.path(), "two", clock);
  CHECK(one.take("a"));
  for (std::uint64_t records = 1; records < 10; ++records) {
    two.have_read("one", records);
    CHECK_FALSE(take_in_two_looks(two, "a"));
    clock.advance_s(20);
  }
  two.have_read("one", 9);
  clock.advance_s(20);
  CHECK_FALSE(two.take("a"));  // reads the heartbeat for the first time
  clock.advance_s(31);
  CHECK_FALSE(two.take("a"));
  CHECK(take_in_two_looks(two, "a"));
}

TEST_CASE("Claims are taken over after all records that the owner reported were read, unless they cannot be found") {
  const TemporaryDirectory folder;
  fakes::FakeClock clock;
  Claims silent(folder.path(), "silent", clock), heir(folder.path(), "heir", clock);
  {
    Claims ended(folder.path(), "ended", clock);
    CHECK(ended.take("of the ended"));
    for (int i = 0; i < 3; ++i) ended.have_stored_one();
  }
  CHECK(silent.take("of the silent"));
  silent.have_stored_one();
  silent.beat();
  silent.have_stored_one();  // not reported by a later beat
  const auto look = [&](const std::string& name) {
    heir.about_to_read();
    return heir.take(name);
  };
  heir.have_read("ended", 2);
  clock.advance_s(2);
  for (int i = 0; i < 5; ++i) CHECK_FALSE(look("of the ended"));
  heir.have_read("ended", 3);
  CHECK(look("of the ended"));
  CHECK_FALSE(look("of the silent"));
  clock.advance_s(31);
  for (int i = 0; i < 5; ++i) CHECK_FALSE(look("of the silent"));
  clock.advance_s(89);
  CHECK_FALSE(look("of the silent"));
  clock.advance_s(2);
  CHECK(look("of the silent"));
}

TEST_CASE("A killed process of this host loses its claims at once") {
  const TemporaryDirectory folder;
  const pid_t child = fork();
  if (child == 0) {
    fakes::FakeClock clock;
    auto* claims = new Claims(folder.path(), "child", clock);
    _exit(claims->take("work") ? 0 : 1);  // without a word of farewell
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WEXITSTATUS(status) == 0);
  fakes::FakeClock clock;
  Claims heir(folder.path(), "heir", clock);
  CHECK(take_in_two_looks(heir, "work"));
}

TEST_CASE("A claim without an owner's name is respected for a while, then free") {
  const TemporaryDirectory folder;
  fakes::FakeClock clock;
  Claims one(folder.path(), "one", clock);
  CHECK(one.take("a"));
  fs::path claim;
  for (const auto& entry : fs::directory_iterator(folder.path() / "claims")) claim = entry.path();
  fs::remove(claim);
  std::ofstream{claim};
  Claims two(folder.path(), "two", clock);
  CHECK_FALSE(take_in_two_looks(two, "a"));
  clock.advance_s(31);
  CHECK(take_in_two_looks(two, "a"));
}

TEST_CASE("A directory that cannot be made, and a name that is taken, are reported") {
  const TemporaryDirectory folder;
  fakes::FakeClock clock;
  std::ofstream(folder.path() / "file") << "x";
  CHECK_THROWS_AS(Claims(folder.path() / "file" / "study", "one", clock), Error);
  const Claims one(folder.path(), "one", clock);
  CHECK_THROWS_AS(Claims(folder.path(), "one", clock), Error);
}

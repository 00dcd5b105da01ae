// Several processes share one sequence: each number is done by exactly one of them, and work that a process abandons is
// taken over by another one.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <set>

#include "base/random.hpp"
#include "core/run/peer_work.hpp"

using namespace xtune::base;
using namespace xtune::store;
using namespace xtune::run;
using namespace xtune::search;

namespace {

using namespace xtune;

struct Numbers final : Sequence {
  std::uint64_t count;
  explicit Numbers(std::uint64_t size) : count(size) {}
  std::uint64_t size() const noexcept override { return count; }
  std::uint64_t at(std::uint64_t number) const override { return number; }
};

struct Board {
  std::map<std::string, std::size_t> owners;
  std::set<std::size_t> gone;
  std::uint64_t asked = 0;
};

struct Seat final : Peers {
  Board& board;
  std::size_t own, count;
  std::set<std::string> known;  ///< Claims asks the filesystem once of each
  Seat(Board& shared, std::size_t place, std::size_t size) : board(shared), own(place), count(size) {}
  bool take(const std::string& name) override {
    board.asked += known.insert(name).second;
    std::size_t& owner = board.owners.try_emplace(name, own).first->second;
    if (board.gone.contains(owner)) owner = own;
    return owner == own;
  }
  void leave() noexcept override {}
  void stored_one() noexcept override {}
  std::vector<Record> news() override { return {}; }
  std::size_t size() const noexcept override { return count; }
  std::size_t place() const noexcept override { return own; }
  std::int64_t began_unix_ms() const noexcept override { return 0; }
  std::uint64_t look_every_ms() const noexcept override { return 1; }
};

BlockWalk::Take taking(Seat& seat) {
  return [&seat](const std::string& name) { return seat.take(name); };
}

/// Processes that take turns: each does one of its numbers, or checks the results of the others.
struct Crew {
  Numbers numbers;
  Board board;
  std::vector<std::unique_ptr<Seat>> seats;
  std::vector<std::unique_ptr<BlockWalk>> walks;
  std::map<std::uint64_t, int> done;
  std::vector<std::uint64_t> worked;

  Crew(std::uint64_t size, std::size_t processes, std::size_t present) : numbers(size), worked(present) {
    for (std::size_t i = 0; i < present; ++i) {
      seats.push_back(std::make_unique<Seat>(board, i, processes));
      walks.push_back(std::make_unique<BlockWalk>(numbers, *seats.back(), taking(*seats.back()), "walk"));
    }
  }
  void look(std::size_t i) {
    const auto has_come = [&](std::uint64_t number) { return done.contains(number); };
    while (walks[i]->look(has_come, 1000)) {
    }
  }
  /// Whether it did anything.
  bool turn(std::size_t i) {
    if (board.gone.contains(i)) return false;
    if (const auto number = walks[i]->next()) {
      ++done[*number];
      if (++worked[i] % 16 == 0) look(i);
      return true;
    }
    look(i);
    return !walks[i]->over();
  }
  /// speed(i): turns of process i in each round.
  void run(const std::function<int(std::size_t)>& speed) {
    for (int rounds = 0; rounds < 1'000'000; ++rounds) {
      bool any = false;
      for (std::size_t i = 0; i < walks.size(); ++i)
        for (int turns = speed(i); turns > 0; --turns) any = turn(i) || any;
      if (!any) return;
    }
    FAIL("no end");
  }
  void check_all_done_once() const {
    CHECK(done.size() == numbers.count);
    for (const auto& [number, times] : done) CHECK(times == 1);
    for (std::size_t i = 0; i < walks.size(); ++i)
      if (!board.gone.contains(i)) CHECK(walks[i]->over());
  }
};

int one(std::size_t /*place*/) { return 1; }

}  // namespace

TEST_CASE("Every number is worked off once, whatever the sizes, and every process sees the end") {
  for (const std::uint64_t size : {1, 2, 7, 64, 1000, 4097})
    for (const std::size_t processes : {1, 2, 3, 8, 33}) {
      CAPTURE(size);
      CAPTURE(processes);
      Crew crew(size, processes, processes);
      crew.run(one);
      crew.check_all_done_once();
    }
}

TEST_CASE("Nothing to do is over at once") {
  Crew crew(0, 4, 4);
  for (const auto& walk : crew.walks) CHECK(walk->over());
}

TEST_CASE("A slow process is helped, and those that never came are not missed") {
  Crew crew(20'000, 8, 5);
  crew.run([](std::size_t place) { return place == 0 ? 1 : 10; });
  crew.check_all_done_once();
  // There are 41 shares, one of them for the slow process; no process waits for more than a block.
  CHECK(crew.worked[0] < 20'000 / 41 + 64);
  for (std::size_t i = 1; i < 5; ++i) CHECK(crew.worked[i] > 20'000 / 41 * 10 - 640);
}

TEST_CASE("Work of a process that died is done by another one") {
  Crew crew(5'000, 4, 4);
  int rounds = 0;
  crew.run([&](std::size_t place) {
    if (place == 0 && ++rounds == 300) crew.board.gone = {1, 2};
    return 1;
  });
  crew.check_all_done_once();
}

TEST_CASE("Processes ask for few claims: about as many as there are blocks") {
  Crew crew(100'000, 16, 16);
  Random random(5);
  std::vector<int> speeds;
  for (int i = 0; i < 16; ++i) speeds.push_back(8 + static_cast<int>(random.below(5)));
  crew.run([&](std::size_t place) { return speeds[place]; });
  crew.check_all_done_once();
  CHECK(crew.walks[0]->block_size() == 64);
  const std::uint64_t blocks = 100'000 / 64 + 1;
  CHECK(crew.board.owners.size() == blocks);
  CHECK(crew.board.asked < blocks + 3 * 16 * 16);  // a few in vain, for each of the others
}

TEST_CASE("A process that has finished asks for a few of the others' blocks after each look, and in time for all") {
  Numbers numbers(4 * 64 * 64);
  Board board;
  std::vector<std::unique_ptr<Seat>> seats;
  for (std::size_t i = 0; i < 4; ++i) seats.push_back(std::make_unique<Seat>(board, i, 4));
  BlockWalk walk(numbers, *seats[0], taking(*seats[0]), "walk");
  for (int block = 0; block < 4 * 64; ++block) seats[block / 64]->take("walk block " + std::to_string(block));
  board.owners.erase("walk block 130");  // of a process that never came
  const auto none = [](std::uint64_t) { return false; };
  while (walk.next()) {
  }
  const std::uint64_t before = board.asked;
  walk.look(none, 1000);
  CHECK_FALSE(walk.next());
  CHECK(board.asked - before <= 16);
  int looks = 0;
  while (!board.owners.contains("walk block 130") && ++looks < 1000) {
    walk.look(none, 1000);
    walk.next();
  }
  CHECK(looks < 1000);
}

TEST_CASE("What came already is asked for once, and a space of any size costs nothing to begin with") {
  Numbers numbers(std::uint64_t{1} << 62);
  Board board;
  Seat seat(board, 3, 1000);
  BlockWalk walk(numbers, seat, taking(seat), "walk");
  std::uint64_t asked = 0;
  const auto all_known = [&](std::uint64_t) { return ++asked > 0; };
  CHECK(walk.look(all_known, 100));
  CHECK(asked == 100);
  const auto first = walk.next();
  REQUIRE(first);
  CHECK(walk.next() == *first + 1);
  CHECK(board.asked == 1);
}

// The pool: order, as many processes as work needs, deaths that cost one job each, cancelling, workers that cannot
// start.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "fakes/process_checks.hpp"
#include "system/files.hpp"
#include "unit/ipc/fake_worker.hpp"
#include "worker/ipc/pool.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::worker;

using namespace xtune;
using namespace xtune::test;
using nlohmann::json;

namespace {

WorkerCommand fake(std::size_t) { return fake_worker(); }

std::string outcome(const WorkerReply& reply) { return reply.failure ? to_string(reply.failure->kind) : "answer"; }

int pid_in(const WorkerReply& reply) { return answer_in(reply).at("pid"); }

// A FIFO that holds workers in their job until it is opened for writing.
class Gate {
 public:
  Gate() : path_(folder_.path() / "gate") { REQUIRE(mkfifo(path_.c_str(), 0600) == 0); }
  json job(int i) const { return {{"do", "wait-for-file"}, {"path", path_.string()}, {"i", i}}; }
  void open_for_ever() {
    // With a writer that stays, later readers pass too; reading is allowed so that opening itself never blocks.
    fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Gate() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  TemporaryDirectory folder_;
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace

TEST_CASE("one worker takes jobs in order") {
  EventLoop loop;
  WorkerPool pool(loop, 1, fake);
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    pool.submit({{"i", i}}, long_s, [&](WorkerReply reply) { order.push_back(answer_in(reply)["echo"]["i"]); });
  CHECK(pool.busy() == 1);
  CHECK(pool.queued() == 19);
  CHECK(loop.run_until([&] { return order.size() == 20; }));
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(pool.busy() == 0);
  CHECK(pool.queued() == 0);
}

TEST_CASE("of the jobs that wait the longest goes first, after those of unknown length") {
  EventLoop loop;
  WorkerPool pool(loop, 1, fake);
  std::vector<int> order;
  int i = 0;
  // The first is in the worker before there is a choice.
  for (const std::optional<double> expected_s :
       std::initializer_list<std::optional<double>>{1, 2, 8, std::nullopt, 8, 0.5, std::nullopt, 4})
    pool.submit(
        {{"i", i++}}, long_s, [&](WorkerReply reply) { order.push_back(answer_in(reply)["echo"]["i"]); }, expected_s);
  CHECK(loop.run_until([&] { return order.size() == 8; }));
  CHECK(order == std::vector<int>{0, 3, 6, 2, 4, 7, 1, 5});
}

TEST_CASE("as many processes as there are jobs at once, at most the pool's size") {
  EventLoop loop;
  for (const int jobs : {2, 12}) {
    Gate gate;
    WorkerPool pool(loop, 4, fake);
    std::multiset<int> pids;
    for (int i = 0; i < jobs; ++i)
      pool.submit(gate.job(i), long_s, [&](WorkerReply reply) { pids.insert(pid_in(reply)); });
    const int workers = std::min(jobs, 4);
    CHECK(pool.busy() == static_cast<std::size_t>(workers));
    CHECK(pool.queued() == static_cast<std::size_t>(jobs - workers));
    gate.open_for_ever();
    CHECK(loop.run_until([&] { return pids.size() == static_cast<std::size_t>(jobs); }));
    CHECK(std::set<int>(pids.begin(), pids.end()).size() == static_cast<std::size_t>(workers));
  }
}

TEST_CASE("a worker that is up is used before another is started") {
  EventLoop loop;
  WorkerPool pool(loop, 8, fake);
  std::set<int> pids;
  for (int i = 0; i < 10; ++i) {
    bool answered = false;
    pool.submit({}, long_s, [&](WorkerReply reply) { answered = true, pids.insert(pid_in(reply)); });
    CHECK(loop.run_until([&] { return answered; }));
  }
  CHECK(pids.size() == 1);
}

TEST_CASE("each death costs exactly its own job") {
  EventLoop loop;
  WorkerPool pool(loop, 3, fake);
  const std::vector<std::pair<json, std::string>> jobs{
      {{{"do", "echo"}}, "answer"},   {{{"do", "crash"}}, "crashed"},   {{{"do", "hang"}}, "timed_out"},
      {{{"do", "echo"}}, "answer"},   {{{"do", "garbage"}}, "garbage"}, {{{"do", "exit"}}, "crashed"},
      {{{"do", "crash"}}, "crashed"}, {{{"do", "crash"}}, "crashed"},   {{{"do", "crash"}}, "crashed"},
      {{{"do", "crash"}}, "crashed"}, {{{"do", "echo"}}, "answer"},     {{{"do", "echo"}}, "answer"}};
  std::vector<std::string> outcomes(jobs.size());
  std::size_t done = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    pool.submit(jobs[i].first, jobs[i].second == "timed_out" ? 0.1 : long_s, [&, i](WorkerReply reply) {
      outcomes[i] = outcome(reply);
      ++done;
    });
  }
  CHECK(loop.run_until([&] { return done == jobs.size(); }));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CAPTURE(i);
    CHECK(outcomes[i] == jobs[i].second);
  }
}

TEST_CASE("workers that cannot start fail every job, without an endless loop") {
  EventLoop loop;
  TemporaryDirectory folder;
  // Every start leaves a line behind.
  const std::string script = "echo started >> " + (folder.path() / "starts").string() + "; exit 1";
  WorkerPool pool(loop, 2, [&](std::size_t) { return WorkerCommand{{"/bin/sh", "-c", script}, {}, {}}; });
  int failures = 0;
  const auto count = [&](WorkerReply reply) {
    CHECK(outcome(reply) == "could_not_start");
    CHECK(reply.failure->text.find("before its greeting") != std::string::npos);
    ++failures;
  };
  for (int i = 0; i < 100; ++i) pool.submit({}, long_s, count);
  CHECK(loop.run_until([&] { return failures == 100; }));
  CHECK(pool.busy() + pool.queued() == 0);
  bool inside = true;
  pool.submit({}, long_s, [&](WorkerReply reply) {
    CHECK_FALSE(inside);
    count(std::move(reply));
  });
  inside = false;
  CHECK(pool.queued() == 1);
  CHECK(loop.run_until([&] { return failures == 101; }));
  const std::string starts = read_file(folder.path() / "starts");
  CHECK(std::count(starts.begin(), starts.end(), '\n') == 6);
}

TEST_CASE("a missing program is said once a job, and can be cancelled") {
  EventLoop loop;
  WorkerPool pool(loop, 1, [](std::size_t) { return WorkerCommand{{"/nowhere/xtune"}, {}, {}}; });
  std::string text;
  pool.submit({}, long_s, [&](WorkerReply reply) { text = reply.failure->text; });
  CHECK(loop.run_until([&] { return !text.empty(); }));
  CHECK(text == "cannot start /nowhere/xtune: no such file or directory");
  pool.submit({}, long_s, [](WorkerReply) { FAIL("called after cancel_all"); });
  pool.cancel_all();
  loop.run();
  CHECK(pool.queued() == 0);
}

TEST_CASE("a worker that starts at the third attempt does its job") {
  EventLoop loop;
  TemporaryDirectory folder;
  const std::string marks = (folder.path() / "m").string();
  const std::string script = "[ -e " + marks + "2 ] && exec " XTUNE_FAKE_WORKER "; if [ -e " + marks +
                             "1 ]; then : > " + marks + "2; else : > " + marks + "1; fi; exit 1";
  WorkerPool pool(loop, 1, [&](std::size_t) { return WorkerCommand{{"/bin/sh", "-c", script}, {}, {}}; });
  std::string seen;
  pool.submit({}, long_s, [&](WorkerReply reply) { seen = outcome(reply); });
  CHECK(loop.run_until([&] { return !seen.empty(); }));
  CHECK(seen == "answer");
}

TEST_CASE("cancel_all kills what runs, forgets what waits, and leaves a usable pool") {
  EventLoop loop;
  WorkerPool pool(loop, 2, fake);
  std::vector<int> pids;
  for (int i = 0; i < 2; ++i) pool.submit({}, long_s, [&](WorkerReply reply) { pids.push_back(pid_in(reply)); });
  CHECK(loop.run_until([&] { return pids.size() == 2; }));
  for (int i = 0; i < 10; ++i)
    pool.submit({{"do", "hang"}}, long_s, [](WorkerReply) { FAIL("called after cancel_all"); });
  pool.cancel_all();
  CHECK(pool.busy() == 0);
  CHECK(pool.queued() == 0);
  for (const int pid : pids) CHECK(fakes::dies_within_deadline(loop, pid));
  std::string seen;
  pool.submit({}, long_s, [&](WorkerReply reply) { seen = outcome(reply); });
  CHECK(loop.run_until([&] { return !seen.empty(); }));
  CHECK(seen == "answer");
}

TEST_CASE("callbacks may submit, cancel, throw or destroy the pool") {
  EventLoop loop;
  std::optional<WorkerPool> pool(std::in_place, loop, 2, fake);
  int answers = 0;
  std::function<void(WorkerReply)> again = [&](WorkerReply) {
    if (++answers < 10) pool->submit({}, long_s, again);
  };
  pool->submit({}, long_s, again);
  CHECK(loop.run_until([&] { return answers == 10; }));

  bool cancelled = false;
  pool->submit({}, long_s, [&](WorkerReply) { pool->cancel_all(), cancelled = true; });
  pool->submit({{"do", "hang"}}, long_s, [](WorkerReply) { FAIL("called after cancel_all"); });
  pool->submit({{"do", "hang"}}, long_s, [](WorkerReply) { FAIL("called after cancel_all"); });
  CHECK(loop.run_until([&] { return cancelled; }));
  CHECK(pool->busy() + pool->queued() == 0);

  int after_throw = 0;
  pool->submit({}, long_s, [](WorkerReply) { throw Error(ErrorKind::io, "the store is full"); });
  CHECK_THROWS_WITH(loop.run(), "the store is full");
  pool->submit({}, long_s, [&](WorkerReply) { ++after_throw; });
  CHECK(loop.run_until([&] { return after_throw == 1; }));

  for (const char* what : {"echo", "crash"}) {
    pool.emplace(loop, std::size_t{2}, fake);
    pool->submit({{"do", what}}, long_s, [&](WorkerReply) { pool.reset(); });
    for (int i = 0; i < 5; ++i)
      pool->submit({{"do", "hang"}}, long_s, [](WorkerReply) { FAIL("called after destruction"); });
    CHECK(loop.run_until([&] { return !pool.has_value(); }));
  }
}

TEST_CASE("a pool destroyed while its failures are posted makes no callback") {
  EventLoop loop;
  {
    WorkerPool pool(loop, 1, [](std::size_t) { return WorkerCommand{{"/nowhere/xtune"}, {}, {}}; });
    bool failed = false;
    pool.submit({}, long_s, [&](WorkerReply) { failed = true; });
    CHECK(loop.run_until([&] { return failed; }));
    pool.submit({}, long_s, [](WorkerReply) { FAIL("called after destruction"); });
  }
  loop.run();
  CHECK_THROWS_AS(WorkerPool(loop, 0, fake), Error);
}

TEST_CASE("Jobs wait for memory, and none waits for ever") {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  std::uint64_t available = 2 * gib + 1;
  JobMemory memory([&] { return available; });
  EventLoop loop;
  WorkerPool pool(loop, 4, fake, [&](std::size_t running) { return memory.admits(running); });
  std::size_t done = 0, most = 0;
  const auto submit = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      pool.submit({{"do", "echo"}}, long_s, [&](const WorkerReply& reply) {
        CHECK(pid_in(reply) > 0);
        ++done;
        most = std::max(most, pool.busy());
      });
  };
  submit(4);
  CHECK(pool.busy() == 2);
  CHECK(pool.queued() == 2);
  REQUIRE(loop.run_until([&] { return done == 4; }));
  CHECK(most <= 2);

  available = 0;
  submit(3);
  CHECK(pool.busy() == 1);
  REQUIRE(loop.run_until([&] { return done == 7; }));

  available = 2 * gib + 1;
  memory.measured(gib / 4);
  memory.measured(gib / 8);
  submit(4);
  CHECK(pool.busy() == 4);
  REQUIRE(loop.run_until([&] { return done == 11; }));
}

TEST_CASE("A job counts as a gibibyte, then as a quarter more than the largest peak") {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  std::uint64_t available = 3 * 1024 * mib;
  JobMemory memory([&] { return available; });
  CHECK(memory.admits(2));
  CHECK_FALSE(memory.admits(3));
  memory.measured(2048 * mib);
  CHECK_FALSE(memory.admits(1));
  CHECK(memory.admits(0));
  available = 2 * 2560 * mib;
  CHECK(memory.admits(1));
  CHECK_FALSE(memory.admits(2));
}

TEST_CASE("a job that must run on its own goes first, and nothing runs beside it") {
  EventLoop loop;
  Gate gate;
  WorkerPool pool(loop, 2, fake);
  std::vector<std::string> done;
  const auto note = [&](const std::string& name) {
    return [&done, name](const WorkerReply&) { done.push_back(name); };
  };
  pool.submit(gate.job(0), long_s, note("busy"));
  pool.submit_alone({{"do", "echo"}}, long_s, [&](const WorkerReply&) { done.push_back("alone"); });
  pool.submit({{"do", "echo"}}, long_s, note("later"));
  // The second worker is idle, but one job runs, and the job that must run on its own is next.
  CHECK(pool.busy() == 1);
  CHECK(pool.queued() == 2);
  gate.open_for_ever();
  REQUIRE(loop.run_until([&] { return done.size() == 3; }));
  CHECK(done == std::vector<std::string>{"busy", "alone", "later"});
}

// One worker process: answers, every kind of death, and that nothing of it survives.
#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "fakes/process_checks.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "unit/ipc/fake_worker.hpp"
#include "worker/ipc/pool.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::worker;

using namespace xtune;
using namespace xtune::test;
using fakes::dies_within_deadline;
using nlohmann::json;

namespace {

WorkerReply ask(EventLoop& loop, WorkerProcess& worker, const json& message, double timeout_s = long_s) {
  std::optional<WorkerReply> reply;
  worker.request(message, timeout_s, [&](WorkerReply arrived) {
    CHECK_FALSE(reply.has_value());
    reply = std::move(arrived);
  });
  CHECK(worker.busy());
  CHECK_FALSE(reply.has_value());
  CHECK(loop.run_until([&] { return reply.has_value(); }));
  return *reply;
}

WorkerFailure failure_of(const WorkerReply& reply, WorkerFailureKind kind) {
  REQUIRE(reply.failure.has_value());
  CHECK(std::string(to_string(reply.failure->kind)) == to_string(kind));
  CHECK(reply.answer == nullptr);
  return *reply.failure;
}

int grandchild_of(const WorkerReply& reply) {
  const auto at = reply.stderr_tail.find("grandchild ");
  return at == std::string::npos ? 0 : std::atoi(reply.stderr_tail.c_str() + at + 11);
}

}  // namespace

TEST_CASE("a worker starts with its first request, and one process answers them all") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  CHECK(worker.generation() == 0);
  CHECK_FALSE(worker.running());
  for (int i = 0; i < 50; ++i) {
    const WorkerReply reply = ask(loop, worker, {{"i", i}, {"data", json::binary({1, 2, 3})}});
    REQUIRE(reply.answer);
    CHECK_FALSE(reply.failure);
    CHECK((*reply.answer)["echo"]["i"] == i);
    CHECK((*reply.answer)["pid"] == worker.pid());
    CHECK(reply.generation == 1);
  }
  CHECK(worker.running());
}

TEST_CASE("100 MB come back whole") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  const WorkerReply reply = ask(loop, worker, {{"do", "large"}, {"bytes", 100000000}});
  REQUIRE(reply.answer);
  const auto& data = (*reply.answer)["data"].get_binary();
  CHECK(data.size() == 100000000);
  CHECK(data.back() == 0xAB);
}

TEST_CASE("a crash is reported with its signal and last output, and the next request gets a new process") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  const int first_pid = answer_in(ask(loop, worker, {}))["pid"];
  const WorkerReply reply = ask(loop, worker, {{"do", "crash"}});
  const WorkerFailure failure = failure_of(reply, WorkerFailureKind::crashed);
  CHECK(failure.signal == SIGSEGV);
  CHECK(failure.text == "killed by signal 11 (segmentation fault)");
  CHECK(reply.stderr_tail == "about to crash\n");
  CHECK(reply.generation == 1);
  CHECK_FALSE(worker.running());
  const WorkerReply next = ask(loop, worker, {});
  CHECK(answer_in(next)["pid"] != first_pid);
  CHECK(next.generation == 2);
  CHECK(worker.generation() == 2);
}

TEST_CASE("exits without an answer are crashes with their code") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  for (const int code : {0, 3}) {
    const WorkerFailure failure =
        failure_of(ask(loop, worker, {{"do", "exit"}, {"code", code}}), WorkerFailureKind::crashed);
    CHECK(failure.exit_code == code);
    CHECK(failure.signal == 0);
    CHECK(failure.text == "ended without an answer, exit code " + std::to_string(code));
  }
  CHECK(has(failure_of(ask(loop, worker, {{"do", "kill"}}), WorkerFailureKind::crashed).text, "out of memory"));
  failure_of(ask(loop, worker, {{"do", "half"}}), WorkerFailureKind::crashed);
}

TEST_CASE("a worker that waits for another run has time for its answer, and a long wait is told") {
  const TemporaryDirectory folder;
  const std::string marker = folder.path() / "free";
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  REQUIRE(ask(loop, worker, {}).answer);
  std::string told;
  // Told after the limit, and only then does the other run end.
  worker.on_long_wait(1200, [&](const std::string& directory) {
    told = directory;
    std::ofstream(marker) << "free";
  });
  CHECK(ask(loop, worker, {{"do", "wait"}, {"marker", marker}}, 1).answer);
  CHECK(told == "/shared");
  CHECK(failure_of(ask(loop, worker, {{"do", "hang"}}, 0.05), WorkerFailureKind::timed_out).text ==
        "no answer in 50 ms; killed");
}

TEST_CASE("a worker that hangs is killed with its grandchild") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  const int grandchild = grandchild_of(ask(loop, worker, {{"do", "start-grandchild"}}));
  const int pid = worker.pid();
  CHECK_FALSE(fakes::is_dead(grandchild));
  const WorkerFailure failure = failure_of(ask(loop, worker, {{"do", "hang"}}, 0.05), WorkerFailureKind::timed_out);
  CHECK(failure.text == "no answer in 50 ms; killed");
  CHECK(fakes::is_dead(pid));  // the reply comes after the death
  CHECK(dies_within_deadline(loop, grandchild));
  CHECK(ask(loop, worker, {}).generation == 2);
}

TEST_CASE("the grandchild of a worker that crashes dies with it") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  const WorkerReply reply = ask(loop, worker, {{"do", "crash-with-grandchild"}});
  failure_of(reply, WorkerFailureKind::crashed);
  CHECK(dies_within_deadline(loop, grandchild_of(reply)));
}

TEST_CASE("garbage on the message stream is distinguished from a crash") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  CHECK(has(failure_of(ask(loop, worker, {{"do", "garbage"}}), WorkerFailureKind::garbage).text,
            "Segmentation fault in kernel"));
  CHECK(has(failure_of(ask(loop, worker, {{"do", "absurd-length"}}), WorkerFailureKind::garbage).text,
            "more than the limit"));
  CHECK(ask(loop, worker, {}).answer);
}

TEST_CASE("an answer counts when the process dies right after it") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  const WorkerReply reply = ask(loop, worker, {{"do", "answer-and-exit"}});
  CHECK(reply.answer);
  CHECK(loop.run_until([&] { return !worker.running(); }));
  CHECK(ask(loop, worker, {}).generation == 2);
}

TEST_CASE("a process that was killed while idle costs the next request nothing") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  ask(loop, worker, {});
  const int pid = worker.pid();
  kill(pid, SIGKILL);
  // Without a turn of the loop, which would notice: only asking the system shows that it has ended.
  while (!fakes::is_dead(pid)) {
  }
  const WorkerReply reply = ask(loop, worker, {});
  CHECK(reply.answer);
  CHECK(reply.generation == 2);
}

TEST_CASE("a second answer to one request is not taken for the next one's") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  CHECK(answer_in(ask(loop, worker, {{"do", "two-answers"}}))["echo"]["do"] == "two-answers");
  CHECK(answer_in(ask(loop, worker, {{"value", 5}}))["echo"]["value"] == 5);
}

TEST_CASE("stderr belongs to its request, and only its tail is kept") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  CHECK(ask(loop, worker, {{"do", "print"}, {"text", "ptxas: spills\n"}}).stderr_tail == "ptxas: spills\n");
  CHECK(ask(loop, worker, {}).stderr_tail == "");
  const std::string tail = ask(loop, worker, {{"do", "flood"}, {"bytes", 5000000}}).stderr_tail;
  CHECK(tail.size() == 65536);
  CHECK(tail.substr(tail.size() - 8) == "xthe end");
}

TEST_CASE("the tail of stderr begins with a whole line, and an emulator's place outlives what a kernel prints") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  std::string text = "an unfinished line of the kernel xtune emulator: after 2 s: kernel 'k', 's_nop 0'\n";
  for (int i = 0; i < 20000; ++i) text += "a line of the kernel\n";
  const WorkerReply flooded = ask(loop, worker, {{"do", "print"}, {"text", text}});
  CHECK(flooded.stderr_tail.starts_with("a line of the kernel\n"));
  CHECK(flooded.stderr_tail.size() > 65000);
  CHECK(flooded.emulated_place == "after 2 s: kernel 'k', 's_nop 0'");
  text = "xtune emulator: after 2 s: kernel 'k'\nxtune emulator: after 4 s: kernel 'l'\nxtune emulator: after ";
  CHECK(ask(loop, worker, {{"do", "print"}, {"text", text}}).emulated_place == "after 4 s: kernel 'l'");
  CHECK(ask(loop, worker, {}).emulated_place.empty());
}

TEST_CASE("a worker that cannot start says why, from outside of request()") {
  EventLoop loop;
  WorkerCommand missing;
  missing.argv = {"/nowhere/xtune", "worker"};
  WorkerProcess worker(loop, missing);
  const WorkerReply reply = ask(loop, worker, {});
  CHECK(failure_of(reply, WorkerFailureKind::could_not_start).text ==
        "cannot start /nowhere/xtune: no such file or directory");
  CHECK(reply.generation == 0);
  failure_of(ask(loop, worker, {}), WorkerFailureKind::could_not_start);
}

TEST_CASE("a worker that ends before its greeting did not start") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker({"--exit-at-start"}));
  const WorkerReply reply = ask(loop, worker, {});
  const WorkerFailure failure = failure_of(reply, WorkerFailureKind::could_not_start);
  CHECK(failure.exit_code == 127);
  CHECK(failure.text == "it ended with exit code 127 before its greeting");
  CHECK(reply.stderr_tail == "cannot load libdevice\n");
}

TEST_CASE("another version's worker, or another program, is refused") {
  EventLoop loop;
  WorkerProcess wrong(loop, fake_worker({"--wrong-greeting"}));
  CHECK(has(failure_of(ask(loop, wrong, {}), WorkerFailureKind::garbage).text, "greeting of this version"));
  WorkerProcess program(loop, {{"/bin/echo", "hello"}, {}, {}});
  CHECK(has(failure_of(ask(loop, program, {}), WorkerFailureKind::garbage).text, "hello"));
}

TEST_CASE("the time of a request starts at the greeting") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker({"--late-greeting"}));
  const WorkerReply reply = ask(loop, worker, {{"do", "hang"}}, 0.02);
  failure_of(reply, WorkerFailureKind::timed_out);
  CHECK(reply.stderr_tail == "greeting late\n");
}

TEST_CASE("interrupt kills at once and makes no callback") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  ask(loop, worker, {});
  const int pid = worker.pid();
  auto captured = std::make_shared<int>();
  const std::weak_ptr<int> alive = captured;
  worker.request({{"do", "hang"}}, long_s, [captured](WorkerReply) { FAIL("called after interrupt"); });
  captured.reset();
  worker.interrupt();
  CHECK_FALSE(worker.busy());
  CHECK_FALSE(worker.running());
  CHECK(alive.expired());
  CHECK(dies_within_deadline(loop, pid));
  CHECK(ask(loop, worker, {}).generation == 2);
}

TEST_CASE("a failure to start can be interrupted before it is reported") {
  EventLoop loop;
  WorkerProcess worker(loop, {{"/nowhere/xtune"}, {}, {}});
  worker.request({}, long_s, [](WorkerReply) { FAIL("called after interrupt"); });
  worker.interrupt();
  loop.run();
  CHECK_FALSE(worker.busy());
}

TEST_CASE("a callback may request, interrupt, throw or destroy the worker") {
  EventLoop loop;
  std::optional<WorkerProcess> worker(std::in_place, loop, fake_worker());
  int answers = 0;
  std::function<void(WorkerReply)> again = [&](WorkerReply reply) {
    REQUIRE(reply.answer);
    if (++answers < 5) worker->request({}, long_s, again);
  };
  worker->request({}, long_s, again);
  CHECK(loop.run_until([&] { return answers == 5; }));

  worker->request({}, long_s, [](WorkerReply) { throw std::runtime_error("from the owner"); });
  CHECK_THROWS_WITH(loop.run(), "from the owner");
  worker->request({}, long_s, [](WorkerReply) { throw Error(ErrorKind::io, "the owner's disk is full"); });
  CHECK_THROWS_WITH(loop.run(), "the owner's disk is full");
  CHECK(worker->generation() == 1);  // no fault of the worker

  for (const char* what : {"echo", "crash", "garbage"}) {
    CAPTURE(what);
    worker.emplace(loop, fake_worker());
    worker->request({{"do", what}}, long_s, [&](WorkerReply) { worker.reset(); });
    CHECK(loop.run_until([&] { return !worker.has_value(); }));
  }
  worker.emplace(loop, fake_worker());
  bool called = false;
  worker->request({}, long_s, [&](WorkerReply) { worker->interrupt(), called = true; });
  CHECK(loop.run_until([&] { return called; }));
  CHECK_FALSE(worker->running());
}

TEST_CASE("misuse is refused") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  worker.request({}, long_s, [](WorkerReply) {});
  CHECK_THROWS_AS(worker.request({}, long_s, [](WorkerReply) {}), Error);
  WorkerProcess other(loop, fake_worker());
  CHECK_THROWS_AS(other.request({}, long_s, nullptr), Error);
}

TEST_CASE("kills from outside, crashes and timeouts are distinguished") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  CHECK(failure_of(ask(loop, worker, {{"do", "kill"}}), WorkerFailureKind::crashed).from_outside);
  CHECK(failure_of(ask(loop, worker, {{"do", "terminate"}}), WorkerFailureKind::crashed).from_outside);
  CHECK_FALSE(failure_of(ask(loop, worker, {{"do", "crash"}}), WorkerFailureKind::crashed).from_outside);
  CHECK_FALSE(failure_of(ask(loop, worker, {{"do", "hang"}}, 0.05), WorkerFailureKind::timed_out).from_outside);
}

TEST_CASE("an answer takes precedence over a limit that passed before it was read") {
  EventLoop loop;
  WorkerProcess worker(loop, fake_worker());
  answer_in(ask(loop, worker, {{"do", "echo"}}));
  std::optional<WorkerReply> reply;
  worker.request({{"do", "echo"}}, 0.001, [&](WorkerReply arrived) { reply = std::move(arrived); });
  // The loop does not run until the worker has read the request and waits for the next one, and the limit is over.
  const std::string stat = "/proc/" + std::to_string(worker.pid()) + "/stat";
  const std::int64_t start_ms = loop.now_ms();
  while (loop.now_ms() - start_ms < 20 || read_if_there(stat).find(") S ") == std::string::npos) loop.now_ms();
  REQUIRE(loop.run_until([&] { return reply.has_value(); }));
  CHECK(answer_in(*reply).contains("echo"));
}

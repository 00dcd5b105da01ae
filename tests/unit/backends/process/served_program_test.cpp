// Servers for real: answers, errors, ends, hangs and garbage, and which of them the next configuration survives.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "backends/process/device.hpp"
#include "core/build/shortage.hpp"
#include "core/device/launch.hpp"
#include "fakes/process_checks.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::process;
using namespace xtune::test;

namespace {

/// A server in Python whose answer to a configuration is the value of the program text WAY. It leaves its process id.
constexpr const char* server_source = R"py(
import json, os, signal, sys, time
open("pids", "a").write("%d\n" % os.getpid())
count = 0
def answer(**members):
    print(json.dumps({"id": request["id"], **members}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    open("requests", "a").write(line)
    if request["do"] == "start":
        exec(os.environ.get("ON_START", "answer(protocol=1)"))
        continue
    count += 1
    exec(request["config"]["WAY"])
)py";

constexpr const char* good = "answer(times_ms=[2.5] * request['samples'], checked=True)";

struct Served {
  TemporaryDirectory folder;
  std::unique_ptr<Device> device = make_device(0);
  ProgramCall call;
  Served() {
    write_file_atomically(folder.path() / "server.py", server_source);
    call.words = {"python3", "server.py"};
    call.folder = folder.path().string();
    call.timeout_s = 20;
    call.start_timeout_s = 20;
  }
  std::unique_ptr<Program> load(const std::string& way) {
    call.request = nlohmann::json{{"config", {{"WAY", way}}}, {"problem", {{"N", 4}}}}.dump();
    LaunchPlan launch;
    launch.call = call;
    return device->load(Artifact(), launch);
  }
  /// "outcome: message", with "(not stored)" behind the outcome of a shortage.
  std::string failure(const std::string& way, std::string* log = nullptr) {
    try {
      load(way)->run({});
      return "no failure";
    } catch (const CandidateFailure& failed) {
      if (log) *log = failed.log();
      return std::string(to_string(failed.outcome())) + (lack_of(failed) == Lack::none ? ": " : " (not stored): ") +
             failed.what();
    }
  }
  std::vector<int> pids() const {
    std::vector<int> pids;
    for (const std::string& line : lines_of(read_if_there(folder.path() / "pids"))) pids.push_back(std::stoi(line));
    return pids;
  }
  std::vector<nlohmann::json> requests() const {
    std::vector<nlohmann::json> requests;
    for (const std::string& line : lines_of(read_if_there(folder.path() / "requests")))
      requests.push_back(nlohmann::json::parse(line));
    return requests;
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      lines.push_back(text.substr(at, end - at));
    return lines;
  }
};

ProgramValue metric(const std::string& name) {
  ProgramValue value;
  value.name = name;
  return value;
}

}  // namespace

TEST_CASE("a server is started once, gets a request for each sample, and ends with its device") {
  Served served;
  served.call.checks = true;
  served.call.metrics = {metric("speed"), metric("heat")};
  const std::string way =
      "answer(times_ms=[2, 4][:request['samples']], checked=request['check'], metrics={'speed': 7, 'heat': [1, 2]})";
  {
    const auto program = served.load(way);
    CHECK(program->times_itself());
    CHECK(program->run({}).time_ms == 2);
    RunOptions two;
    const std::span<const KernelArgument> none;
    two.more = std::span(&none, 1);
    const Sample sample = program->run(two);
    CHECK(sample.time_ms == 3);
    CHECK(sample.reported == std::vector<double>{7, 1.5});
    program->check_last_run();
    program->check_last_run();
  }
  served.call.metrics.clear();
  CHECK(served.load(good)->run({}).time_ms == 2.5);
  const std::vector<nlohmann::json> requests = served.requests();
  REQUIRE(requests.size() == 5);
  CHECK(requests[0] == nlohmann::json{{"id", 0}, {"do", "start"}, {"protocol", 1}});
  CHECK(requests[1]["config"]["WAY"] == way);
  CHECK(requests[1]["problem"]["N"] == 4);
  std::vector<nlohmann::json> asked;
  for (std::size_t i = 1; i < 5; ++i)
    asked.push_back({requests[i]["id"], requests[i]["samples"], requests[i]["validate"]});
  CHECK(asked == std::vector<nlohmann::json>{{1, 1, true}, {2, 2, false}, {3, 1, true}, {4, 1, true}});
  REQUIRE(served.pids().size() == 1);
  CHECK(served.device->kept_processes() == served.pids());
  CHECK_FALSE(fakes::is_dead(served.pids()[0]));
  served.device.reset();
  CHECK(fakes::is_dead(served.pids()[0]));
}

TEST_CASE("programs with different commands have their own servers while they are in use") {
  Served served;
  const auto first = served.load(good);
  first->run({});
  served.call.words.emplace_back("--other");
  const auto second = served.load(good);
  second->run({});
  first->run({});
  CHECK(served.pids().size() == 2);
  CHECK(served.device->kept_processes().size() == 2);
}

TEST_CASE("errors of the server are the outcomes of its configurations, and it goes on") {
  Served served;
  std::string log;
  CHECK(served.failure("sys.stderr.write('deep down\\n'); answer(error='compile_failed', message='no such tile')",
                       &log) == "compile_failed: no such tile");
  CHECK(log == "deep down\n");
  CHECK(served.failure("print(json.dumps({'log': 'half way'}), flush=True); answer(error='rejected', message='99 KiB')",
                       &log) == "rejected: 99 KiB");
  CHECK(log == "half way\n");
  CHECK(served.failure("answer(error='launch_failed')") == "launch_failed: the server gave no message");
  CHECK(served.failure("answer(error='wrong_result', message='off by 1')") == "wrong_result: off by 1");
  CHECK(has(served.failure("answer(error='compile_fail')"),
            "launch_failed (not stored): the server's answer has the unknown \"error\" 'compile_fail' (did you mean "
            "'compile_failed'?)"));
  CHECK(has(served.failure("answer(error=5, message='five')"), "has the unknown \"error\" '5': five"));
  CHECK(has(served.failure("answer(error={'kind': 'rejected'})"),
            "has the unknown \"error\" '{\"kind\":\"rejected\"}': "));
  CHECK(served.load(good)->run({}).time_ms == 2.5);
  CHECK(served.pids().size() == 1);
}

TEST_CASE("an answer that lacks a requested value is a wrong result") {
  Served served;
  CHECK(served.failure("answer()") == "wrong_result: the server's answer: \"times_ms\" is missing");
  CHECK(has(served.failure("answer(times_ms=3)"), "\"times_ms\" is of type number, and a list of 1 is expected"));
  CHECK(has(served.failure("answer(times_ms=[1, 2])"), "\"times_ms\" has 2 numbers, and 1 were asked for"));
  CHECK(has(served.failure("answer(times_ms=['1'])"), "has an item of type string, and numbers are expected"));
  CHECK(has(served.failure("answer(times_ms=[0])"), "has 0, and times are from 1e-9 ms to 1e12 ms"));
  CHECK(has(served.failure("answer(times_ms=[1e308])"), "has 1e+308, and times are from"));
  served.call.metrics = {metric("speed")};
  CHECK(has(served.failure("answer(times_ms=[1])"), "the metric 'speed' is missing in \"metrics\""));
  CHECK(has(served.failure("answer(times_ms=[1], metrics={'speed': 'high'})"),
            "the metric 'speed' has an item of type string"));
  served.call.metrics.clear();
  served.call.checks = true;
  CHECK(has(served.failure("answer(times_ms=[1])"), "its answer does not have \"validated\": true"));
}

TEST_CASE("a server that dies is started again; only a configuration that kills a fresh one is to blame") {
  Served served;
  std::string log;
  CHECK(served.failure("sys.stderr.write('no more paper\\n'); sys.exit(3)", &log) ==
        "crashed: the server ended with exit code 3 before it answered: no more paper");
  CHECK(log == "no more paper\n");
  CHECK(has(served.failure("os.kill(os.getpid(), signal.SIGSEGV)"),
            "crashed: the server was killed by signal 11 (segmentation fault) before it answered"));
  CHECK(has(served.failure("sys.stdout.write('{\"id\": 1, '); sys.stdout.flush(); os._exit(0)"),
            "in the middle of the line '{\"id\": 1, '"));
  CHECK(has(served.failure("os.kill(os.getpid(), signal.SIGKILL)"), "crashed (not stored): "));
  CHECK(served.pids().size() == 4);
  // It answers one request, and ends during the second: another configuration is not to blame.
  const std::string once = "sys.exit(1) if count > 1 else " + std::string(good);
  CHECK(served.load(once)->run({}).time_ms == 2.5);
  CHECK(served.load(once + "#")->run({}).time_ms == 2.5);
  CHECK(served.pids().size() == 6);
  // The same one is.
  const auto program = served.load("sys.exit(1) if count > 1 else " + std::string(good) + "##");
  program->run({});
  CHECK_THROWS_AS(program->run({}), CandidateFailure);
  // It ends between two requests.
  CHECK(served.load(std::string(good) + "; sys.exit(0)")->run({}).time_ms == 2.5);
  CHECK(served.load(good)->run({}).time_ms == 2.5);
}

TEST_CASE("a server that ends after its last answer is reaped by its device alone, and started again") {
  Served served;
  const std::string last = std::string(good) + "; os._exit(0)";
  CHECK(served.load(last)->run({}).time_ms == 2.5);
  REQUIRE(served.pids().size() == 1);
  EventLoop loop;
  REQUIRE(fakes::dies_within_deadline(loop, served.pids()[0]));
  // A zombie that the device keeps, or the device has reaped it already with the answer.
  const std::vector<int> kept = served.device->kept_processes();
  CHECK((kept.empty() || kept == served.pids()));
  CHECK(kill_children_but(kept) == 0);
  CHECK(served.load(good)->run({}).time_ms == 2.5);
  CHECK(served.pids().size() == 2);
}

TEST_CASE("a server that hangs is killed with what it has started, and its configuration timed out") {
  Served served;
  CHECK(served.load(good)->run({}).time_ms == 2.5);
  served.call.timeout_s = 3;
  CHECK(
      served.failure("import subprocess; c = subprocess.Popen(['sleep', '60']); open('child', 'w').write(str(c.pid)); "
                     "sys.stdout.write('{\"id\": 2}'); sys.stdout.flush(); time.sleep(60)") ==
      "timed_out: the server's work for this configuration ran longer than 3.0 s and was killed, with all that it had "
      "started ([process] timeout_s), in the middle of the line '{\"id\": 2}' (an answer ends with a line break)");
  CHECK(served.device->kept_processes().empty());
  kill_children_but({});
  CHECK(fakes::is_dead(served.pids()[0]));
  CHECK(fakes::is_dead(std::stoi(read_file(served.folder.path() / "child"))));
  served.call.timeout_s = 20;
  CHECK(served.load(good)->run({}).time_ms == 2.5);
  CHECK(served.pids().size() == 2);
}

TEST_CASE("a line that is no answer is named, with its number; the server is started again and nothing is stored") {
  Served served;
  served.load(good)->run({});
  CHECK(has(
      served.failure("print('CUDA is warm'); " + std::string(good)),
      "launch_failed (not stored): line 3 of the server's standard output is not a JSON object: 'CUDA is warm' (only "
      "answers belong there; other output belongs on standard error)"));
  served.load(good)->run({});
  CHECK(has(served.failure("answer(times_ms=[float('nan')])"), "which has neither NaN nor Infinity"));
  served.load(good)->run({});
  CHECK(has(served.failure("sys.stdout.buffer.write(b'{\"a\": \"\\xff\"}\\n'); sys.stdout.flush()"),
            "is not a JSON object"));
  served.load(good)->run({});
  CHECK(has(served.failure("print('{}', flush=True)"), "has no \"id\", and the request has the id"));
  served.load(good)->run({});
  CHECK(has(served.failure("request['id'] = 9; " + std::string(good)), "has the id 9, and the request has the id"));
  served.load(good)->run({});
  CHECK(has(served.failure("sys.stdout.write('[' * (17 << 20)); sys.stdout.flush(); time.sleep(20)"),
            "is longer than 16 MiB: '[[["));
  served.load(good)->run({});
  CHECK(has(served.failure("print('{\"id\": [[]]}', flush=True)"), "has an id that is not a number"));
  served.load(good)->run({});
  CHECK(has(served.failure("print('{\"id\": ' + '[' * 1000000 + ']' * 1000000 + '}', flush=True)"),
            "is not a JSON object, or has more than 500 levels: '{\"id\": [[["));
}

TEST_CASE("an answer twice is not the answer to the next request") {
  Served served;
  const std::string twice = std::string(good) + "; " + good;
  const auto program = served.load(twice);
  program->run({});
  // The second line may come before the next request or after it: it is refused either way.
  try {
    program->run({});
    FAIL("no failure");
  } catch (const CandidateFailure& failure) {
    CHECK(has(failure.what(), "has the id 1, and"));
  }
}

TEST_CASE("a server that cannot start ends the run at the third time, with its standard error") {
  Served served;
  served.call.environment = {{"ON_START", "sys.exit('ModuleNotFoundError: no torch')"}};
  for (int i = 0; i < 2; ++i)
    CHECK(served.failure(good) ==
          "launch_failed (not stored): the server did not start: it ended with exit code 1 before it answered: "
          "ModuleNotFoundError: no torch");
  try {
    served.failure(good);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unavailable);
    CHECK(has(error.what(), "(3 times in a row); on standard error:\nModuleNotFoundError: no torch"));
  }
}

TEST_CASE("the first answer must have the version, in time") {
  Served served;
  served.call.environment = {{"ON_START", "answer(protocol=2)"}};
  CHECK(has(served.failure(good), "the server did not start: its first answer must have \"protocol\": 1"));
  Served slow;
  slow.call.environment = {{"ON_START", "time.sleep(60)"}};
  slow.call.start_timeout_s = 0.5;
  CHECK(has(slow.failure(good), "no answer to the first request in 500 ms ([process] start_timeout_s)"));
  Served missing;
  missing.call.words = {"./no-such-program"};
  CHECK(has(missing.failure(good), "launch_failed (not stored): the server: cannot start ./no-such-program"));
}

TEST_CASE("a server sees one device only, and has {tmp}") {
  Served served;
  served.call.device = "cuda";
  served.call.environment = {{"PLACE", "{tmp}"}};
  CHECK(served.failure("answer(error='rejected', message=os.environ['CUDA_VISIBLE_DEVICES'] + ' ' + "
                       "str(os.path.isdir(os.environ['PLACE'])))") == "rejected: 0 True");
}

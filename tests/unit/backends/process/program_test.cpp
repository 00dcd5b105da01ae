// Programs run for real: what comes of their ends, and that nothing of them stays.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "backends/backend.hpp"
#include "backends/process/device.hpp"
#include "backends/process/run_program.hpp"
#include "core/build/shortage.hpp"
#include "core/device/backend_facts.hpp"
#include "fakes/control_group.hpp"
#include "fakes/environment_variable.hpp"
#include "fakes/limited_child.hpp"
#include "fakes/limited_directory.hpp"
#include "fakes/process_checks.hpp"
#include "support/text.hpp"
#include "system/directory_lock.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::backend;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::process;
using namespace xtune::test;

namespace {

ProgramValue regex_value(const std::string& where, const std::string& name = "") {
  ProgramValue value;
  value.name = name;
  value.form = ProgramValue::Form::regex;
  value.where = where;
  return value;
}

/// A call of /bin/sh in a directory of the test.
struct Shell {
  TemporaryDirectory folder;
  ProgramCall call;
  explicit Shell(const std::string& script) {
    call.words = {"/bin/sh", "-c", to_call_text(script)};
    call.folder = folder.path().string();
    call.time = regex_value("time ([^ ]*)");
    call.timeout_s = 20;
  }
  std::unique_ptr<Program> load(const std::string& image = "", int device = 0) const {
    Artifact artifact;
    artifact.image = image;
    LaunchPlan launch;
    launch.call = call;
    return make_device(device)->load(artifact, launch);
  }
  Sample run() const { return load()->run({}); }
  /// "outcome: message".
  std::string failure(std::string* log = nullptr) const {
    try {
      run();
      return "no failure";
    } catch (const CandidateFailure& failed) {
      if (log) *log = failed.log();
      return std::string(to_string(failed.outcome())) + ": " + failed.what();
    }
  }
  std::string read(const std::string& name) const { return read_if_there(folder.path() / name); }
};

}  // namespace

TEST_CASE("a run's time and metrics are what it reports") {
  Shell shell("echo 'time 2.5us'; echo 'speed 7'");
  shell.call.metrics = {regex_value("speed (.*)", "speed")};
  const Sample sample = shell.run();
  CHECK(sample.time_ms == doctest::Approx(0.0025));
  CHECK(sample.reported == std::vector<double>{7});
  CHECK(shell.load()->times_itself());
}

TEST_CASE("without a reported time the wall clock is used") {
  Shell shell("sleep 0.05");
  shell.call.time = {};
  const double time_ms = shell.run().time_ms;
  CHECK(time_ms >= 50);
  CHECK(time_ms < 20'000);
}

TEST_CASE("an exit code is a failed launch, a signal a crash; both keep the end of standard error") {
  std::string log;
  CHECK(Shell("echo 'time 1'; echo first >&2; echo 'out of paper' >&2; exit 3").failure(&log) ==
        "launch_failed: the program ended with exit code 3: out of paper");
  CHECK(log == "first\nout of paper\n");
  CHECK(has(Shell("kill -SEGV $$").failure(), "crashed: the program was killed by signal 11"));
}

TEST_CASE("a missing program is reported") {
  Shell shell("");
  shell.call.words = {"./no-such-program"};
  CHECK(has(shell.failure(), "launch_failed: the program: cannot start ./no-such-program: no such file"));
}

TEST_CASE("the message about a missing metric quotes the output") {
  const std::string failure = Shell("echo 'speed: 12 parsecs'").failure();
  CHECK(has(failure, "wrong_result: the time was not found: no line matches the regular expression"));
  CHECK(has(failure, "the program printed:\nspeed: 12 parsecs"));
  CHECK(has(Shell("echo oops >&2").failure(), "on standard error:)\noops"));
  CHECK(has(Shell("true").failure(), "the program printed:\nnothing"));
  CHECK(has(Shell("echo time nan").failure(), "wrong_result: the time was not found: it is 'nan'"));
}

TEST_CASE("what is expected must be in the output, and the validator must end well, of the first run and of the last") {
  Shell shell("echo 'time 1'; echo 'result 42'; echo x >> runs; echo ok > {tmp}/result");
  shell.call.words = {"/bin/sh", "-c", "echo 'time 1'; echo 'result 42'; echo ok > {tmp}/result"};
  shell.call.expect = "^result 42$";
  shell.call.check = {"/bin/sh", "-c", "echo checked >> checks; test -s {tmp}/result"};
  const auto program = shell.load();
  program->run({});
  program->run({});
  CHECK(shell.read("checks") == "checked\n");
  program->check_last_run();
  program->check_last_run();
  CHECK(shell.read("checks") == "checked\nchecked\n");
  program->run({});
  CHECK(shell.read("checks") == "checked\nchecked\n");
  shell.call.expect = "^result 43$";
  CHECK(has(shell.failure(), "wrong_result: no line of the output matches the expected '^result 43$'"));
  shell.call.expect.clear();
  shell.call.check = {"/bin/sh", "-c", "echo 'differs at 7' >&2; exit 1"};
  CHECK(shell.failure() == "wrong_result: the validator ended with exit code 1: differs at 7");
}

TEST_CASE("a check does not judge what another configuration has written") {
  Shell shell("echo time 1; echo ok > result"), lazy("echo time 1");
  lazy.call.folder = shell.call.folder;
  for (Shell* each : {&shell, &lazy}) {
    each->call.check = {"/bin/sh", "-c", "test -e result"};
    each->call.outputs = {(shell.folder.path() / "result").string()};
  }
  shell.run();
  CHECK(has(lazy.failure(), "wrong_result: the validator ended with exit code 1"));
  shell.run();
  // A file that no run has written belongs to the user.
  std::ofstream(shell.folder.path() / "result") << "edited";
  CHECK(lazy.failure() == "no failure");
  CHECK(shell.read("result") == "edited");
}

TEST_CASE("programs that write the same file take turns, in one run and in several") {
  const TemporaryDirectory folder;
  // It fails where another one is under way.
  const auto runs = [&](int number) {
    Shell shell("mkdir busy || exit 7; echo 'time " + std::to_string(number) + "' > result; sleep 0.01; rmdir busy");
    shell.call.folder = folder.path().string();
    shell.call.time.file = "result";
    std::set<double> times;
    for (int i = 0; i < 5; ++i) times.insert(shell.run().time_ms);
    return times;
  };
  std::set<double> others;
  {
    const std::jthread other([&] { others = runs(1); });
    CHECK(runs(2) == std::set<double>{2});
  }
  CHECK(others == std::set<double>{1});
}

TEST_CASE("a check does not judge what another run has written before the first of this configuration") {
  Shell lazy("echo time 1");
  const std::filesystem::path result = lazy.folder.path() / "result";
  lazy.call.check = {"/bin/sh", "-c", "test -e result"};
  lazy.call.outputs = {result.string()};
  auto other = std::make_unique<DirectoryLock>(std::vector{lazy.folder.path()});
  tell_of_waits([&](const std::string&) {
    if (other) std::ofstream(result) << "theirs";
    other.reset();
  });
  CHECK(has(lazy.failure(), "wrong_result: the validator ended with exit code 1"));
  tell_of_waits({});
}

TEST_CASE("the last check does not judge what another run has written meanwhile") {
  const TemporaryDirectory folder;
  const auto writing = [&](const std::string& word) {
    auto shell = std::make_unique<Shell>("echo time 1; echo " + word + " > result");
    shell->call.folder = folder.path().string();
    shell->call.check = {"/bin/sh", "-c", "grep -qx " + word + " result"};
    shell->call.outputs = {(folder.path() / "result").string()};
    return shell;
  };
  const auto one = writing("one"), two = writing("two");
  const auto first = one->load(), second = two->load();
  for (Program* program : {first.get(), second.get()}) {
    program->run({});
    program->run({});
  }
  CHECK_NOTHROW(first->check_last_run());
  CHECK(read_if_there(folder.path() / "result") == "one\n");
}

TEST_CASE("a check that takes too long has not found the results wrong") {
  Shell shell("echo time 1");
  shell.call.check = {"/bin/sh", "-c", "sleep 30"};
  shell.call.timeout_s = 0.5;
  CHECK(has(shell.failure(), "timed_out: the validator ran longer than "));
}

TEST_CASE("a program whose results are right once only is wrong") {
  Shell shell("");
  shell.call.words = {"/bin/sh", "-c", "echo 'time 1'; test -e ran || echo ok > {tmp}/result; : > ran"};
  shell.call.check = {"/bin/sh", "-c", "test -s {tmp}/result || { echo 'no result' >&2; exit 1; }"};
  const auto program = shell.load();
  program->run({});
  program->check_last_run();
  program->run({});
  try {
    program->check_last_run();
    FAIL("it passed");
  } catch (const CandidateFailure& failed) {
    CHECK(failed.outcome() == Outcome::wrong_result);
    CHECK(failed.what() ==
          std::string("the validator passed run 1 and, after run 2, ended with exit code 1: no result"));
  }
}

TEST_CASE("a file that the program writes is read, and an old one is not taken for this run's") {
  Shell shell("");
  shell.call.words = {"/bin/sh", "-c", "echo 'time 4' > {tmp}/log"};
  shell.call.time.file = "{tmp}/log";
  CHECK(shell.run().time_ms == 4);
  shell.call.words = {"/bin/sh", "-c", "echo 'time 5' > result.txt"};
  shell.call.time.file = "result.txt";
  CHECK(shell.run().time_ms == 5);
  shell.call.words = {"/bin/true"};
  CHECK(has(shell.failure(), "the file is older than this run"));
  shell.call.time.file = "other.txt";
  CHECK(has(shell.failure(), "other.txt: the program did not write the file"));
}

TEST_CASE("{tmp} is empty when a run begins") {
  Shell shell("");
  shell.call.words = {"/bin/sh", "-c", "echo time $(($(ls {tmp} | wc -l) + 1)); touch {tmp}/left"};
  const auto program = shell.load();
  CHECK(program->run({}).time_ms == 1);
  CHECK(program->run({}).time_ms == 1);
}

TEST_CASE("the built program is installed at {out}, whatever is in its name or its arguments") {
  Shell shell("");
  shell.call.words = {"{out}", to_call_text("a b; {out} $(touch hacked)"), "{{tmp}}"};
  shell.call.environment = {{"PLACE", "{tmp}"}};
  const auto program = shell.load("#!/bin/sh\necho \"$1|$2\" > arguments\ntest -d \"$PLACE\" && echo time 6\n");
  CHECK(program->run({}).time_ms == 6);
  CHECK(shell.read("arguments") == "a b; {out} $(touch hacked)|{tmp}\n");
  CHECK(shell.read("hacked").empty());
}

TEST_CASE("a program that takes too long is killed with all that it has started") {
  Shell shell(
      "setsid sh -c 'echo $$ > daemon; sleep 100' & sh -c 'echo $$ > child; sleep 100' & "
      "while ! test -s daemon || ! test -s child; do :; done; echo ready > ready; sleep 100");
  shell.call.timeout_s = 1;
  CHECK(has(shell.failure(), "timed_out: the program ran longer than 1.0 s and was killed"));
  REQUIRE(shell.read("ready") == "ready\n");
  CHECK(xtune::fakes::is_dead(std::stoi(shell.read("daemon"))));
  CHECK(xtune::fakes::is_dead(std::stoi(shell.read("child"))));
}

TEST_CASE("processes that a program leaves behind are killed when it ends, and are not waited for") {
  Shell shell("(setsid sh -c 'echo $$ > daemon; sleep 100' &) ; while ! test -s daemon; do :; done; echo time 1");
  CHECK(shell.run().time_ms == 1);
  CHECK(xtune::fakes::is_dead(std::stoi(shell.read("daemon"))));
  CHECK(children_of(::getpid()).empty());
}

TEST_CASE("of gigabytes the end is kept") {
  Shell shell("head -c 50000000 /dev/zero | tr '\\0' 'x'; echo; echo time 8");
  CHECK(shell.run().time_ms == 8);
  ProgramRun run{{"/bin/sh", "-c", "head -c 50000000 /dev/zero; head -c 300000 /dev/zero >&2"}, {}, "", 60};
  const ProgramEnd end = run_program(run);
  CHECK(end.output_cut);
  CHECK(end.stdout_text.size() == std::size_t{16} << 20);
  CHECK(end.stderr_text.size() == std::size_t{64} << 10);
}

TEST_CASE("a program sees the one device that it is to run on") {
  CHECK(visible_device(nullptr, 2) == "2");
  CHECK(visible_device("4,5,7", 0) == "4");
  CHECK(visible_device("4,5,7", 2) == "7");
  CHECK(visible_device("GPU-aa,GPU-bb", 1) == "GPU-bb");
  Shell shell("");
  shell.call.words = {"/bin/sh", "-c", "echo \"$CUDA_VISIBLE_DEVICES\" > seen; echo time 1"};
  shell.call.device = "cuda";
  const char* before = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string kept = before ? before : "";
  ::setenv("CUDA_VISIBLE_DEVICES", "3,6", 1);
  shell.load("", 1)->run({});
  before ? ::setenv("CUDA_VISIBLE_DEVICES", kept.c_str(), 1) : ::unsetenv("CUDA_VISIBLE_DEVICES");
  CHECK(shell.read("seen") == "6\n");
}

TEST_CASE("builds: the file at {out} is the image; failures tell what the compiler said") {
  const TemporaryDirectory folder;
  const auto toolchain = make_backend("process")->open_toolchain();
  CompileRequest request;
  request.folder = folder.path().string();
  request.arch = toolchain->default_arch();
  const auto failure = [&](const std::string& script) {
    request.options = {"/bin/sh", "-c", script};
    try {
      return "image " + toolchain->compile(request).image;
    } catch (const CandidateFailure& failed) {
      return std::string(to_string(failed.outcome())) + ": " + failed.what();
    }
  };
  request.defines = {{"WORD", "made"}};
  CHECK(failure("printf \"$WORD\" > {out}") == "image made");
  CHECK(failure("true") == "compile_failed: the build succeeded but left no file at {out}");
  CHECK(failure(": > {out}") == "compile_failed: the build succeeded but left {out} empty");
  CHECK(failure("mkdir {out}") == "compile_failed: the build made {out} a directory; it must be one file");
  CHECK(failure("echo 'a.cpp:3:1: error: no such thing' >&2; exit 1") ==
        "compile_failed: the build ended with exit code 1: a.cpp:3:1: error: no such thing");
  CHECK(has(failure("kill -SEGV $$"), "crashed: /bin/sh crashed: killed by signal 11"));
  CHECK_THROWS_AS(failure("echo 'cc: No space left on device' >&2; exit 1"), Error);
  CHECK_THROWS_AS(failure("echo 'cp: No space left on device' >&2; : > {out}"), Error);
  CHECK_THROWS_AS(failure("echo 'sh: 0: Cannot fork' >&2"), Error);
  request.options = {"/bin/sh", "-c", "kill -KILL $$"};
  CHECK_THROWS_AS(toolchain->compile(request), ShortageFailure);
  request.options.clear();
  CHECK(toolchain->compile(request).image.empty());
  request.options = {"no-such-compiler", "{out}"};
  CHECK_THROWS_WITH_AS(toolchain->compile(request), doctest::Contains("cannot start no-such-compiler"),
                       CandidateFailure);
}

TEST_CASE("the process backend takes no kernels, and is none of those that auto tries") {
  for (const std::string& name : backend_names()) CHECK(name != "process");
  const auto backend = make_backend("process");
  CHECK(backend->list_devices().devices.front().backend == "process");
  CHECK_THROWS_AS(backend->open_runtime(), Error);
  CHECK_THROWS_AS(backend->open_device(0)->load({}, {}), Error);
  CHECK_THROWS_AS(backend->open_device(0)->allocate(16), Error);
}

TEST_CASE("a full temporary directory ends a build, whatever the build says of itself") {
  const fakes::LimitedDirectory full("size=256k");
  if (!full.mounted()) {
    MESSAGE("skipped: this user cannot mount");
    return;
  }
  const Variable place("XTUNE_TMP_DIR", full.path().string());
  const auto toolchain = make_backend("process")->open_toolchain();
  CompileRequest request;
  request.folder = full.path().string();
  for (const char* script : {"head -c 1000000 /dev/zero > {out}; true", "echo word > {out}", "exit 1"}) {
    CAPTURE(script);
    request.options = {"/bin/sh", "-c", script};
    CHECK_THROWS_WITH_AS(toolchain->compile(request), doctest::Contains("XTUNE_TMP_DIR"), Error);
  }
}

TEST_CASE("a program is not run where no programs are allowed, and no configuration is blamed") {
  const fakes::LimitedDirectory forbids("noexec,size=8m");
  if (!forbids.mounted()) {
    MESSAGE("skipped: this user cannot mount");
    return;
  }
  const Variable place("XTUNE_TMP_DIR", forbids.path().string());
  Shell shell("");
  shell.call.words = {"{out}"};
  CHECK_THROWS_WITH_AS(shell.load("#!/bin/sh\necho time 1\n")->run({}), doctest::Contains("XTUNE_TMP_DIR"), Error);
}

TEST_CASE("a program that fails for want of room or processes is not the configuration's failure for certain") {
  const auto lack = [](const Shell& shell) {
    try {
      shell.run();
    } catch (const CandidateFailure& failure) {
      return std::string(to_string(failure.outcome())) + " " + to_string(lack_of(failure));
    }
    return std::string();
  };
  CHECK(lack(Shell("echo 'sh: 0: Cannot fork' >&2; exit 2")) == "launch_failed unclear");
  CHECK(lack(Shell("echo 'p: No space left on device' >&2; exit 1")) == "launch_failed unclear");
  CHECK(lack(Shell("echo 'std::bad_alloc' >&2; exit 1")) == "launch_failed none");
  CHECK(lack(Shell("kill -SEGV $$")) == "crashed none");
  Shell missing("");
  missing.call.words = {"./no-such-program"};
  CHECK(lack(missing) == "launch_failed unclear");
}

namespace {

/// "outcome lack" of a program that fails.
std::string lack(const Shell& shell) {
  try {
    shell.run();
  } catch (const CandidateFailure& failure) {
    return std::string(to_string(failure.outcome())) + " " + to_string(lack_of(failure));
  }
  return "no failure";
}

}  // namespace

TEST_CASE("a signal that no fault of a program raises was sent by somebody else, to it or to its child") {
  for (const char* name : {"KILL", "TERM", "HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "XCPU"}) {
    CAPTURE(name);
    CHECK(lack(Shell(std::string("kill -") + name + " $$")) == "crashed killed");
    CHECK(lack(Shell(std::string("sh -c 'kill -") + name + " $$'; exit $?")) == "launch_failed killed");
  }
  for (const char* name : {"SEGV", "BUS", "FPE", "ILL", "ABRT", "SYS", "TRAP", "PIPE"}) {
    CAPTURE(name);
    CHECK(lack(Shell(std::string("kill -") + name + " $$")) == "crashed none");
  }
  CHECK(has(Shell("kill -TERM $$").failure(), "killed by signal 15 (terminated) (xtune did not send the signal)"));
  CHECK(lack(Shell("exit 200")) == "launch_failed none");
  Shell check("echo time 1");
  check.call.check = {"/bin/sh", "-c", "kill -KILL $$"};
  CHECK(lack(check) == "wrong_result killed");
}

TEST_CASE("a program or library that is not there when a script asks for it is the machine's lack") {
  CHECK(lack(Shell("no-such-tool-of-ours")) == "launch_failed unclear");
  CHECK(lack(Shell("no-such-tool-of-ours; exit 1")) == "launch_failed unclear");
  CHECK(lack(Shell("exit 126")) == "launch_failed unclear");
  CHECK(lack(Shell("no-such-tool-of-ours | sed s/a/b/")) == "wrong_result unclear");
  CHECK(lack(Shell("echo './m: error while loading shared libraries: libv.so: cannot open shared object file: No such "
                   "file or directory' >&2; exit 1")) == "launch_failed unclear");
  Shell check("echo time 1");
  check.call.check = {"/bin/sh", "-c", "no-such-tool-of-ours"};
  CHECK(lack(check) == "wrong_result unclear");
  Shell expecting("no-such-tool-of-ours; echo time 1");
  expecting.call.expect = "^result";
  CHECK(lack(expecting) == "wrong_result unclear");
  CHECK(lack(Shell("echo oops >&2; exit 1")) == "launch_failed none");
}

TEST_CASE("under a limit of the user's shell no failing end is the configuration's for certain") {
  const auto limited = [](const Shell& shell) {
    return fakes::under_limit(RLIMIT_FSIZE, rlim_t{64} << 20, [&] { return lack(shell); });
  };
  CHECK(limited(Shell("kill -SEGV $$")) == "crashed unclear");
  CHECK(limited(Shell("kill -XCPU $$")) == "crashed killed");
  CHECK(limited(Shell("exit 3")) == "launch_failed unclear");
  Shell check("echo time 1");
  check.call.check = {"/bin/false"};
  CHECK(limited(check) == "wrong_result unclear");
  CHECK(lack(check) == "wrong_result none");
  CHECK(limited(Shell("echo time none")) == "wrong_result none");
  const auto why = [] { return Shell("exit 3").failure(); };
  CHECK(has(fakes::under_limit(RLIMIT_CPU, 1000, why), "(under a limit on CPU time (ulimit -t)"));
}

TEST_CASE("a failure counts as the machine's where the system killed something for memory, whatever its end") {
  const fakes::ControlGroup group("memory");
  if (!group.set("memory.limit_in_bytes", std::to_string(64 << 20))) {
    MESSAGE("skipped: this user cannot make control groups of version 1");
    return;
  }
  const std::string hog = "(echo 0 > " + (group.path() / "cgroup.procs").string() +
                          "; exec head -c 300m /dev/zero | tail > /dev/null) 2> /dev/null; ";
  CHECK(lack(Shell(hog + "echo 'the solver failed' >&2; exit 1")) == "launch_failed memory");
  CHECK(lack(Shell(hog + "echo nothing")) == "wrong_result memory");
  Shell check("echo time 1");
  check.call.check = {"/bin/sh", "-c", hog + "exit 1"};
  CHECK(lack(check) == "wrong_result memory");
  const auto toolchain = make_backend("process")->open_toolchain();
  CompileRequest request;
  request.folder = "/tmp";
  request.options = {"/bin/sh", "-c", hog + "exit 1", "{out}"};
  try {
    toolchain->compile(request);
    FAIL("it compiled");
  } catch (const CandidateFailure& failure) {
    CHECK(lack_of(failure) == Lack::killed);
  }
}

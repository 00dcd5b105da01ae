// Child processes: pipes of any size, exits, groups with grandchildren, failures to start, destruction from inside.
#include "system/subprocess.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "fakes/process_checks.hpp"
#include "system/event_loop.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;

using namespace xtune;
using fakes::dies_within_deadline;

namespace {

struct Run {
  std::string out, err;
  std::optional<int> code;
  int signal = 0;
};

SubprocessOptions shell(const std::string& script, Run& run) {
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.on_stdout = [&run](std::string_view bytes) { run.out += bytes; };
  options.on_stderr = [&run](std::string_view bytes) { run.err += bytes; };
  options.on_exit = [&run](int code, int signal) {
    CHECK_FALSE(run.code.has_value());
    run.code = code;
    run.signal = signal;
  };
  return options;
}

Run finish(EventLoop& loop, SubprocessOptions options, Run& run) {
  const Subprocess child(loop, std::move(options));
  CHECK(loop.run_until([&] { return run.code.has_value(); }));
  return run;
}

Run run_shell(const std::string& script) {
  EventLoop loop;
  Run run;
  return finish(loop, shell(script, run), run);
}

}  // namespace

TEST_CASE("output and exit code arrive, all output before the exit") {
  const Run run = run_shell("echo out; echo err >&2; exit 3");
  CHECK(run.out == "out\n");
  CHECK(run.err == "err\n");
  CHECK(run.code == 3);
  CHECK(run.signal == 0);
}

TEST_CASE("a child that kills itself reports the signal") {
  const Run run = run_shell("echo before; kill -SEGV $$");
  CHECK(run.out == "before\n");
  CHECK(run.code == -1);
  CHECK(run.signal == SIGSEGV);
}

TEST_CASE("64 MiB go through cat unharmed") {
  EventLoop loop;
  Run run;
  SubprocessOptions options = shell("exec cat", run);
  Subprocess child(loop, std::move(options));
  std::string big(std::size_t{64} << 20, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 2654435761u >> 24);
  child.write(big);
  child.close_stdin();
  CHECK(loop.run_until([&] { return run.code.has_value(); }));
  CHECK(run.code == 0);
  CHECK(run.out == big);
}

TEST_CASE("the pipes are pipes: /dev/stdin and /dev/stderr open") {
  const CommandResult result = run_command({"/bin/sh", "-c", "cat /dev/stdin; echo e > /dev/stderr"},
                                           {.env = {}, .cwd = {}, .stdin_text = "in"});
  CHECK(result.stdout_text == "in");
  CHECK(result.stderr_text == "e\n");
}

TEST_CASE("the end of a child is seen where the program was started with SIGCHLD blocked") {
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &child, &before) == 0);
  CHECK(*run_shell("exit 7").code == 7);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  CHECK(sigismember(&after, SIGCHLD) == 1);
}

TEST_CASE("writing to a child that does not read, or has gone, neither blocks nor kills") {
  EventLoop loop;
  Run run;
  Subprocess child(loop, shell("exec 0<&-; echo closed; sleep 0.01; exit 4", run));
  for (int i = 0; i < 16; ++i) child.write(std::string(1 << 20, 'x'));
  CHECK(loop.run_until([&] { return run.code.has_value(); }));
  CHECK(run.code == 4);
  child.write("after the end");
  child.close_stdin();
  child.kill_group(SIGKILL);
  CHECK_FALSE(child.running());
}

TEST_CASE("environment is added to and replaced; the working directory is set") {
  setenv("XTUNE_TEST_KEPT", "kept", 1);
  setenv("XTUNE_TEST_REPLACED", "old", 1);
  EventLoop loop;
  Run run;
  SubprocessOptions options = shell(
      "echo $XTUNE_TEST_KEPT $XTUNE_TEST_REPLACED $XTUNE_TEST_NEW; pwd; env | grep -c '^XTUNE_TEST_REPLACED='", run);
  options.env = {{"XTUNE_TEST_REPLACED", "new"}, {"XTUNE_TEST_NEW", "a=b c"}};
  options.cwd = "/";
  finish(loop, std::move(options), run);
  CHECK(run.out == "kept new a=b c\n/\n1\n");
}

TEST_CASE("errors for a missing program, a file that is not a program, and a missing directory") {
  EventLoop loop;
  const auto message = [&](std::vector<std::string> argv, std::string cwd) {
    try {
      SubprocessOptions options;
      options.argv = std::move(argv);
      options.cwd = std::move(cwd);
      const Subprocess child(loop, std::move(options));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unavailable);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(message({"/nowhere/compiler"}, "") == "cannot start /nowhere/compiler: no such file or directory");
  CHECK(message({"no-such-compiler-in-path"}, "").find("no-such-compiler-in-path: no such file") != std::string::npos);
  CHECK(message({"/etc/passwd"}, "").find("permission denied") != std::string::npos);
  CHECK(message({"/bin/true"}, "/nowhere").find("no directory /nowhere") != std::string::npos);
  CHECK(message({}, "") == "cannot start a program without a name");
  CHECK_THROWS_AS(run_command({"/nowhere/compiler"}), Error);
  CHECK_FALSE(loop.run_once());
}

TEST_CASE("a process without descriptors reports it, and can start children again later") {
  EventLoop loop;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  for (int spare = 0; spare < 6; ++spare) {
    CAPTURE(spare);
    const rlimit few{static_cast<rlim_t>(next + spare), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    std::string message;
    try {
      const Subprocess child(loop, {{"/bin/true"}, {}, {}, true, nullptr, nullptr, nullptr});
    } catch (const Error& error) {
      message = error.what();
    }
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(message == "cannot start /bin/true: too many open files");
  }
  CHECK_FALSE(loop.run_once());
  CHECK(run_shell("exit 3").code == 3);
}

TEST_CASE("destruction kills the whole group, grandchildren too") {
  EventLoop loop;
  Run run;
  std::optional<Subprocess> child(std::in_place, loop, shell("sleep 1000 & echo $!; wait", run));
  CHECK(loop.run_until([&] { return run.out.find('\n') != std::string::npos; }));
  const int pid = child->pid(), grandchild = std::atoi(run.out.c_str());
  REQUIRE(grandchild > 0);
  CHECK(kill(grandchild, 0) == 0);
  child.reset();
  CHECK(dies_within_deadline(loop, pid));
  CHECK(dies_within_deadline(loop, grandchild));
  CHECK_FALSE(run.code.has_value());
}

TEST_CASE("kill_group reaches grandchildren and on_exit reports the signal") {
  EventLoop loop;
  Run run;
  Subprocess child(loop, shell("(trap '' TERM; sleep 1000) & echo $!; wait", run));
  CHECK(loop.run_until([&] { return run.out.find('\n') != std::string::npos; }));
  child.kill_group(SIGKILL);
  CHECK(loop.run_until([&] { return run.code.has_value(); }));
  CHECK(run.signal == SIGKILL);
  CHECK(dies_within_deadline(loop, std::atoi(run.out.c_str())));
}

TEST_CASE("the rest of the group ends with its leader") {
  EventLoop loop;
  Run run;
  const Subprocess child(loop, shell("sleep 1000 & echo $!", run));
  CHECK(loop.run_until([&] { return run.code.has_value(); }));
  CHECK(run.code == 0);
  CHECK(dies_within_deadline(loop, std::atoi(run.out.c_str())));
}

TEST_CASE("a stray process of another session cannot hold up the exit") {
  EventLoop loop;
  Run run;
  Subprocess child(loop, shell("setsid sh -c 'echo $$; exec sleep 1000' & read line; exit 5", run));
  CHECK(loop.run_until([&] { return run.out.find('\n') != std::string::npos; }));
  child.write("go on\n");
  CHECK(loop.run_until([&] { return run.code.has_value(); }));
  CHECK(run.code == 5);
  const int stray = std::atoi(run.out.c_str());
  REQUIRE(stray > 0);
  CHECK_FALSE(fakes::is_dead(stray));
  kill(stray, SIGKILL);
}

TEST_CASE("own_group decides whose group a child is in") {
  EventLoop loop;
  for (const bool own : {true, false}) {
    Run run;
    SubprocessOptions options = shell("cut -d' ' -f5 /proc/$$/stat; cat", run);
    options.own_group = own;
    Subprocess child(loop, std::move(options));
    CHECK(loop.run_until([&] { return run.out.find('\n') != std::string::npos; }));
    CHECK(std::atoi(run.out.c_str()) == (own ? child.pid() : getpgrp()));
    child.close_stdin();
    CHECK(loop.run_until([&] { return run.code.has_value(); }));
  }
}

TEST_CASE("no descriptor of the parent leaks into a child") {
  const int secret = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EventLoop loop;
  // Descriptors that this program itself was started with are not tested.
  std::size_t expected = 3 + 1;  // and the directory that ls reads
  for (int fd = 3; fd < 1024; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC)) ++expected;
  }
  Run first, second;
  Subprocess sibling(loop, shell("exec cat", first));  // its pipes must not be inherited by the next child
  Subprocess child(loop, shell("ls /proc/self/fd", second));
  CHECK(loop.run_until([&] { return second.code.has_value(); }));
  CHECK(static_cast<std::size_t>(std::count(second.out.begin(), second.out.end(), '\n')) == expected);
  sibling.close_stdin();
  CHECK(loop.run_until([&] { return first.code.has_value(); }));
  close(secret);
}

TEST_CASE("a child gets default signals back") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const Run run = run_shell("kill -PIPE $$; echo survived");
  CHECK(run.signal == SIGPIPE);
  std::signal(SIGPIPE, before);
}

TEST_CASE("a subprocess may be destroyed inside each of its callbacks") {
  EventLoop loop;
  for (const char* where : {"stdout", "stderr", "exit"}) {
    CAPTURE(where);
    std::optional<Subprocess> child;
    auto captured = std::make_shared<std::string>("alive");
    const std::weak_ptr<std::string> watch = captured;
    std::string seen;
    const auto destroy = [&child, &seen, captured] {
      child.reset();
      seen += *captured;
    };
    SubprocessOptions options;
    options.argv = {"/bin/sh", "-c", "echo out; echo err >&2"};
    const std::string place = where;
    if (place == "stdout") options.on_stdout = [destroy](std::string_view) { destroy(); };
    if (place == "stderr") options.on_stderr = [destroy](std::string_view) { destroy(); };
    if (place == "exit") options.on_exit = [destroy](int, int) { destroy(); };
    child.emplace(loop, std::move(options));
    const int pid = child->pid();
    CHECK(loop.run_until([&] { return !child.has_value(); }));
    CHECK(seen == "alive");
    CHECK(dies_within_deadline(loop, pid));
  }
}

TEST_CASE("many children at once, and no zombies after the loop") {
  int exits = 0;
  {
    EventLoop loop;
    std::vector<Subprocess> children;
    for (int i = 0; i < 40; ++i) {
      SubprocessOptions options;
      options.argv = {"/bin/sh", "-c", i % 2 ? "exit 0" : "exec sleep 1000"};
      options.on_exit = [&](int, int) { ++exits; };
      children.emplace_back(loop, std::move(options));
    }
    CHECK(loop.run_until([&] { return exits == 20; }));
  }
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("pending stderr can be read before the loop sees it") {
  EventLoop loop;
  Run run;
  std::optional<std::string> err_at_answer;
  Subprocess child;
  SubprocessOptions options = shell("printf %70000d 1 >&2; echo answer; cat", run);
  options.on_stdout = [&](std::string_view) {
    child.read_pending_stderr();
    err_at_answer = run.err;
  };
  child = Subprocess(loop, std::move(options));
  CHECK(loop.run_until([&] { return err_at_answer.has_value(); }));
  CHECK(err_at_answer->size() == 70000);
}

// run_command: results, limits, timeouts, and the words for an exit.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "fakes/process_checks.hpp"
#include "system/event_loop.hpp"
#include "system/subprocess.hpp"

using namespace xtune::system;

using namespace xtune;

// libuv closes descriptors by the bare system call, which ThreadSanitizer does not see: a number that another thread's
// pipe gets next looks to it like one still in use.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:uv_pipe\n"; }

TEST_CASE("a command's output, input and exit code") {
  CommandOptions options;
  options.stdin_text = "hello";
  options.env = {{"SUFFIX", "!"}};
  const CommandResult result = run_command({"/bin/sh", "-c", "cat; echo \"$SUFFIX\"; echo err >&2; exit 7"}, options);
  CHECK(result.stdout_text == "hello!\n");
  CHECK(result.stderr_text == "err\n");
  CHECK(result.exit_code == 7);
  CHECK_FALSE(result.ok());
  CHECK(run_command({"true"}).ok());
}

TEST_CASE("a command that hangs is killed with its grandchildren") {
  CommandResult result;
  // A loaded machine may need more than the first time to get as far as the echo.
  for (const std::uint64_t timeout_ms : {200, 2000, 20000}) {
    CommandOptions options;
    options.timeout_ms = timeout_ms;
    result = run_command({"/bin/sh", "-c", "sleep 1000 & echo $!; wait"}, options);
    if (!result.stdout_text.empty()) break;
  }
  CHECK(result.timed_out);
  CHECK(result.signal == SIGKILL);
  CHECK_FALSE(result.ok());
  EventLoop loop;
  CHECK(fakes::dies_within_deadline(loop, std::atoi(result.stdout_text.c_str())));
}

TEST_CASE("in the caller's group only a hanging command is killed") {
  CommandOptions options;
  options.timeout_ms = 50;
  options.own_group = false;
  const CommandResult result = run_command({"sleep", "1000"}, options);
  CHECK(result.timed_out);
  CHECK(result.signal == SIGKILL);
}

TEST_CASE("endless output is cut at the limit, not stored") {
  CommandOptions options;
  options.output_limit_bytes = 1000;
  const CommandResult result = run_command({"/bin/sh", "-c", "head -c 20000000 /dev/zero; echo end >&2"}, options);
  CHECK(result.ok());
  CHECK(result.output_truncated);
  CHECK(result.stdout_text.size() == 1000);
  CHECK(result.stderr_text == "end\n");
}

TEST_CASE("standard error may have a separate limit") {
  CommandOptions options;
  options.stderr_limit_bytes = 1000;
  const CommandResult result =
      run_command({"/bin/sh", "-c", "head -c 5000 /dev/zero; head -c 20000000 /dev/zero >&2"}, options);
  CHECK(result.ok());
  CHECK_FALSE(result.output_truncated);
  CHECK(result.stdout_text.size() == 5000);
  CHECK(result.stderr_text.size() == 1000);
}

TEST_CASE("processor time is that of the child") {
  const CommandResult busy = run_command({"/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"});
  const CommandResult idle = run_command({"sleep", "0.05"});
  CHECK(busy.cpu_s > 0);
  CHECK(busy.cpu_s > idle.cpu_s);
  CHECK(idle.wall_s >= 0.05);
}

TEST_CASE("commands run from several threads at once") {
  std::vector<std::string> outputs(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&outputs, i] {
      for (int round = 0; round < 10; ++round)
        outputs[i] += run_command({"/bin/sh", "-c", "echo " + std::to_string(i)}).stdout_text;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string expected;
    for (int round = 0; round < 10; ++round) expected += std::to_string(i) + "\n";
    CHECK(outputs[i] == expected);
  }
}

TEST_CASE("exits in words") {
  CHECK(describe_exit(2, 0) == "exit code 2");
  CHECK(describe_exit(-1, SIGSEGV) == "killed by signal 11 (segmentation fault)");
  CHECK(describe_end(2, 0) == "ended with exit code 2");
  CHECK(describe_end(2, 0, "no such file") == "ended with exit code 2: no such file");
  CHECK(describe_end(-1, SIGSEGV) == "was killed by signal 11 (segmentation fault)");
}

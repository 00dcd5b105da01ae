// One command from start to end, blocking; and the description of its end.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/event_loop.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace xtune::base {
namespace {

double children_cpu_s() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& argv, const CommandOptions& options) {
  CommandResult result;
  bool ended = false;
  const std::uint64_t stderr_limit =
      options.stderr_limit_bytes ? options.stderr_limit_bytes : options.output_limit_bytes;
  const auto keep = [&](std::string& text, std::uint64_t limit) {
    return [&, limit, all = options.output_limit_bytes](std::string_view bytes) {
      if (text.size() + bytes.size() > limit) {
        result.output_truncated = result.output_truncated || limit == all;
        bytes = bytes.substr(0, limit - text.size());
      }
      text.append(bytes);
    };
  };
  const double cpu_before_s = children_cpu_s();

  EventLoop loop;
  SubprocessOptions what;
  what.argv = argv;
  what.env = options.env;
  what.cwd = options.cwd;
  what.own_group = options.own_group;
  what.on_stdout = keep(result.stdout_text, options.output_limit_bytes);
  what.on_stderr = keep(result.stderr_text, stderr_limit);
  what.on_exit = [&](int exit_code, int signal) {
    result.exit_code = exit_code;
    result.signal = signal;
    ended = true;
  };
  Subprocess child = start_patiently(loop, what);
  child.write(options.stdin_text);
  child.close_stdin();
  Deadline timeout;
  if (options.timeout_ms > 0) {
    timeout = Deadline(loop, static_cast<double>(options.timeout_ms) * 1e-3, child.pid(), [&](bool) {
      result.timed_out = child.running();
      child.kill_group(SIGKILL);
    });
  }
  loop.run_until([&] { return ended; });
  result.wall_s = static_cast<double>(system_clock().now_ns() - child.started_ns()) * 1e-9;
  result.cpu_s = children_cpu_s() - cpu_before_s;
  return result;
}

std::string describe_exit(int exit_code, int signal) {
  if (signal == 0) return "exit code " + std::to_string(exit_code);
  return "killed by signal " + std::to_string(signal) + " (" + lower_case(::strsignal(signal)) + ")";
}

int ending_signal(int exit_code, int signal) noexcept {
  // Above the named signals an exit code is more likely to be the program's own.
  constexpr int of_shells = 128, max_named = 31;
  return signal == 0 && exit_code > of_shells && exit_code <= of_shells + max_named ? exit_code - of_shells : signal;
}

bool comes_from_others(int signal) noexcept {
  // SIGXFSZ and SIGPIPE are caused by a write of the process itself.
  constexpr int own[] = {0, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE, SIGXFSZ};
  return std::find(std::begin(own), std::end(own), signal) == std::end(own);
}

std::span<const std::string_view> names_of_others_signals() noexcept {
  static constexpr std::string_view names[] = {"Killed",
                                               "Terminated",
                                               "Hangup",
                                               "Interrupt",
                                               "Quit",
                                               "User defined signal 1",
                                               "User defined signal 2",
                                               "Alarm clock",
                                               "CPU time limit exceeded"};
  return names;
}

}  // namespace xtune::base

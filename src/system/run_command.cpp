// A command whose output is collected up to limits, with a time limit; and the description of its end.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "system/clock.hpp"
#include "system/deadline.hpp"
#include "system/event_loop.hpp"
#include "system/subprocess.hpp"

namespace xtune::system {

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

struct RunningCommand::State {
  CommandResult result;
  std::uint64_t stdout_limit, stderr_limit;
  Done done;
  Subprocess child;
  Deadline timeout;

  void keep(std::string& text, std::uint64_t limit, std::string_view bytes) {
    if (text.size() + bytes.size() > limit) {
      result.output_truncated = result.output_truncated || limit == stdout_limit;
      bytes = bytes.substr(0, limit - text.size());
    }
    text.append(bytes);
  }
};

RunningCommand::RunningCommand(EventLoop& loop, const std::vector<std::string>& argv, const CommandOptions& options,
                               Done done)
    : state_(std::make_unique<State>()) {
  State* const state = state_.get();
  state->stdout_limit = options.output_limit_bytes;
  state->stderr_limit = options.stderr_limit_bytes ? options.stderr_limit_bytes : options.output_limit_bytes;
  state->done = std::move(done);
  SubprocessOptions what;
  what.argv = argv;
  what.env = options.env;
  what.cwd = options.cwd;
  what.own_group = options.own_group;
  what.on_stdout = [state](std::string_view bytes) {
    state->keep(state->result.stdout_text, state->stdout_limit, bytes);
  };
  what.on_stderr = [state](std::string_view bytes) {
    state->keep(state->result.stderr_text, state->stderr_limit, bytes);
  };
  what.on_exit = [state](int exit_code, int signal) {
    state->timeout.cancel();
    CommandResult result = std::move(state->result);
    result.exit_code = exit_code;
    result.signal = signal;
    result.wall_s = static_cast<double>(system_clock().now_ns() - state->child.started_ns()) * 1e-9;
    const Done call = std::move(state->done);
    call(std::move(result));
  };
  state->child = start_patiently(loop, what);
  state->child.write(options.stdin_text);
  state->child.close_stdin();
  if (options.timeout_ms > 0)
    state->timeout = Deadline(loop, static_cast<double>(options.timeout_ms) * 1e-3, state->child.pid(), [state](bool) {
      state->result.timed_out = state->child.running();
      state->child.kill_group(SIGKILL);
    });
}

RunningCommand::~RunningCommand() = default;

CommandResult run_command(const std::vector<std::string>& argv, const CommandOptions& options) {
  const double cpu_before_s = children_cpu_s();
  std::optional<CommandResult> result;
  EventLoop loop;
  const RunningCommand command(loop, argv, options, [&](CommandResult ended) { result = std::move(ended); });
  loop.run_until([&] { return result.has_value(); });
  result->cpu_s = children_cpu_s() - cpu_before_s;
  return std::move(*result);
}

std::string describe_exit(int exit_code, int signal) {
  if (signal == 0) return "exit code " + std::to_string(exit_code);
  return "killed by signal " + std::to_string(signal) + " (" + base::lower_case(::strsignal(signal)) + ")";
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

std::string describe_end(int exit_code, int signal, std::string_view words) {
  std::string text = (signal == 0 ? "ended with " : "was ") + describe_exit(exit_code, signal);
  if (!words.empty()) text.append(": ").append(words);
  return text;
}

}  // namespace xtune::system

// One command from start to end, blocking; and the description of its end.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/event_loop.hpp"
#include "base/running_command.hpp"
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

// A child on a separate event loop, watched until it and everything that it started have ended.
#include "backends/process/run_program.hpp"

#include <unistd.h>

#include <csignal>

#include "system/clock.hpp"
#include "system/deadline.hpp"
#include "system/event_loop.hpp"
#include "system/processes.hpp"

namespace xtune::process {
namespace {

constexpr std::size_t stdout_kept = std::size_t{16} << 20, stderr_kept = std::size_t{64} << 10;
// Processes that a program left behind may hold its pipes open: interval at which they are searched.
constexpr std::uint64_t look_ms = 100;

}  // namespace

ProgramEnd run_program(const ProgramRun& run) {
  system::adopt_orphans();
  const std::vector<int> others = system::children_of(::getpid());
  ProgramEnd end;
  Tail out(end.stdout_text, stdout_kept), err(end.stderr_text, stderr_kept);
  bool ended = false;
  system::EventLoop loop;
  system::SubprocessOptions options;
  options.argv = run.argv;
  options.env = run.env;
  options.cwd = run.folder;
  options.own_group = false;
  options.on_stdout = [&](std::string_view bytes) { out.append(bytes); };
  options.on_stderr = [&](std::string_view bytes) { err.append(bytes); };
  options.on_exit = [&](int exit_code, int signal) {
    end.exit_code = exit_code;
    end.signal = signal;
    ended = true;
  };
  const std::uint64_t suspensions_before = system::suspensions();
  system::Subprocess child = system::start_patiently(loop, options);
  child.close_stdin();
  system::EventLoop::Watch look;
  system::Deadline timeout;
  if (run.timeout_s > 0)
    timeout = system::Deadline(loop, run.timeout_s, child.pid(), [&](bool stopped) {
      if (!child.running()) return;
      end.timed_out = true;
      end.stopped = stopped;
      system::kill_tree(child.pid());
    });
  const std::function<void()> look_for_strays = [&] {
    if (child.ended_ns() > 0)
      end.strays += system::kill_children_but(others);
    else if (!end.timed_out && system::is_stopped(child.pid()))
      end.suspended = true;
    look = loop.call_after(look_ms, look_for_strays);
  };
  look = loop.call_after(look_ms, look_for_strays);
  loop.run_until([&] { return ended; });
  end.strays += system::kill_children_but(others);
  end.wall_s = static_cast<double>(child.ended_ns() - child.started_ns()) * 1e-9;
  end.suspended = end.suspended || system::suspensions() != suspensions_before;
  out.cut();
  err.cut();
  end.output_cut = out.was_cut();
  return end;
}

}  // namespace xtune::process

// A child whose output is collected up to limits, with a time limit.
#include "base/running_command.hpp"

#include <csignal>
#include <utility>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/event_loop.hpp"

namespace xtune::base {

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

}  // namespace xtune::base

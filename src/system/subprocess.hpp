// Child processes: asynchronous ones on an event loop, and run_command for one whole command.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "xtune/error.hpp"

namespace xtune::system {

class EventLoop;

/// Thrown if a program could not be started.
class CannotStart : public Error {
 public:
  CannotStart(int reason, const std::string& message) : Error(ErrorKind::unavailable, message), reason_(reason) {}
  int reason() const noexcept { return reason_; }  ///< errno

 private:
  int reason_;
};

using Environment =
    std::vector<std::pair<std::string, std::string>>;  ///< name, value; added to the parent's or replacing it

struct SubprocessOptions {
  std::vector<std::string> argv;  ///< argv[0] is looked up in PATH if it has no slash
  Environment env;
  std::string cwd;        ///< empty: the parent's
  bool own_group = true;  ///< a separate session and process group: kill_group() reaches grandchildren, Ctrl-C does not
  std::function<void(std::string_view bytes)> on_stdout;
  std::function<void(std::string_view bytes)> on_stderr;
  /// Called once, after the process ended and its output was read to the end (or 1 s after its end, if a stray process
  /// that left the group holds the pipes open). `signal` is 0 unless a signal ended it.
  std::function<void(int exit_code, int signal)> on_exit;
};

/// A running child with pipes on stdin, stdout and stderr; it inherits no other descriptor. With own_group, the group
/// never outlives its leader: the remaining processes are killed when the leader ends. Callbacks run on the loop's
/// thread.
class Subprocess {
 public:
  Subprocess() = default;
  /// Throws CannotStart with the program and the reason if it cannot be started (missing, not executable, no such cwd,
  /// too many processes).
  Subprocess(EventLoop& loop, SubprocessOptions options);
  /// Kills the group, or without own_group the child. No callback is called any more. Safe inside a callback of this
  /// object.
  ~Subprocess();
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;

  /// Queues bytes for stdin and returns at once; after the child's end the bytes are dropped.
  void write(std::string bytes);
  /// Closes stdin after the queued bytes have been written.
  void close_stdin();
  /// Calls on_stderr with the bytes that are in the pipe now, without waiting for the loop. This includes everything
  /// that the child wrote to stderr before bytes that on_stdout has received.
  void read_pending_stderr();
  /// Sends `signum` to the process group (without own_group: to the child). Does nothing if it has ended.
  void kill_group(int signum) noexcept;
  int pid() const noexcept;       ///< 0 if empty
  bool running() const noexcept;  ///< asks the system: false from its end on, also before on_exit
  /// When the process was started, by system_clock().now_ns().
  std::int64_t started_ns() const noexcept;
  /// When the system reported the end of the process, by system_clock().now_ns(); on_exit may come later. 0: still
  /// running.
  std::int64_t ended_ns() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Starts a Subprocess, even if the system is short of processes, descriptors or memory for a moment, or the program's
/// file is still being written: tries for about a second, blocking. Throws CannotStart.
Subprocess start_patiently(EventLoop& loop, const SubprocessOptions& options);

struct CommandOptions {
  Environment env;
  std::string cwd;
  std::string stdin_text;
  /// 0: no limit. After this time the group is killed (without own_group: only the child). Counted like a Deadline.
  std::uint64_t timeout_ms = 0;
  /// Limit for stdout and for stderr; later output is dropped.
  std::uint64_t output_limit_bytes = std::uint64_t{64} << 20;
  std::uint64_t stderr_limit_bytes = 0;  ///< limit for stderr only; 0: output_limit_bytes
  bool own_group = true;                 ///< false: stays in the caller's group, and is killed together with it
};

struct CommandResult {
  int exit_code = 0;  ///< -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool output_truncated = false;  ///< output was longer than output_limit_bytes
  std::string stdout_text;
  std::string stderr_text;
  double wall_s = 0;
  /// User and system time of the child and of the children it waited for; too high if children of other threads end
  /// meanwhile.
  double cpu_s = 0;
  bool ok() const noexcept { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// Runs a command to its end on a separate event loop; blocks the calling thread. A command that fails is a result.
/// Throws only CannotStart, if it could not be started.
CommandResult run_command(const std::vector<std::string>& argv, const CommandOptions& options = {});

/// "exit code 2", "killed by signal 11 (segmentation fault)".
std::string describe_exit(int exit_code, int signal);

/// The signal that ended a process, or the child of a shell, which reports it as the exit code 128 + number; 0: none.
int ending_signal(int exit_code, int signal) noexcept;

/// Whether a signal that ended a process was sent by others (SIGKILL, SIGTERM, SIGHUP, ...: a batch system, the system
/// for lack of memory, a person). False for 0 and for signals that a fault of the process itself raises (SIGSEGV,
/// SIGABRT, ...).
bool comes_from_others(int signal) noexcept;

/// How shells, make and compilers name the signals of comes_from_others: "Killed", "Terminated".
std::span<const std::string_view> names_of_others_signals() noexcept;

class EventLoop;

/// A command that runs while its loop does. Destruction kills its group (without own_group: the child), and nothing is
/// called any more.
class RunningCommand {
 public:
  using Done = std::function<void(CommandResult)>;

  /// Starts the command, and writes and closes its stdin. done is called once, on the loop's thread, and may destroy
  /// this object; cpu_s of its result is 0. Throws CannotStart; blocks for up to a second while the system is short of
  /// processes.
  RunningCommand(EventLoop& loop, const std::vector<std::string>& argv, const CommandOptions& options, Done done);
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// describe_exit as the predicate of a sentence, and what the process said, if anything: "ended with exit code 2: no
/// such file", "was killed by signal 11 (segmentation fault)".
std::string describe_end(int exit_code, int signal, std::string_view words = {});

/// Ends a message about an end if comes_from_others.
inline constexpr const char* not_from_xtune = " (xtune did not send the signal)";

}  // namespace xtune::system

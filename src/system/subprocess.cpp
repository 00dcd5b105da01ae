// Asynchronous child processes over libuv: a process handle and three pipes that exist until libuv has released all of
// them.
#include "system/subprocess.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>
#include <thread>

#include "base/text.hpp"
#include "system/clock.hpp"
#include "system/deadline.hpp"
#include "system/descriptor.hpp"
#include "system/event_loop.hpp"
#include "system/machine.hpp"
#include "system/processes.hpp"

extern char** environ;

namespace xtune::system {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;
constexpr std::uint64_t stray_grace_ms = 1000;

// Starts a program with three pipes: the only place that uses the options of uv_spawn.

std::vector<std::string> merged_environment(const Environment& extra) {
  std::vector<std::string> result;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (std::none_of(extra.begin(), extra.end(), [&](const auto& pair) { return pair.first == name; }))
      result.emplace_back(text);
  }
  for (const auto& [name, value] : extra) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

[[noreturn]] void fail_to_start(const SubprocessOptions& options, int reason) {
  std::string message = "cannot start " + base::printable(options.argv[0]) + ": " + uv_strerror(reason);
  struct stat info {};
  if (!options.cwd.empty() && (::stat(options.cwd.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)))
    message += " (there is no directory " + base::printable(options.cwd) + " to start it in)";
  throw CannotStart(-reason, message);
}

/// A real pipe, closed on exec, and not libuv's socket pair: programs that open /dev/stdin or /dev/stderr fail on
/// sockets.
struct Pipe {
  Descriptor read_end{-1}, write_end{-1};
  /// Each flag is 0 or UV_NONBLOCK_PIPE. Throws CannotStart if the process has no descriptors left.
  Pipe(const SubprocessOptions& options, int read_flags, int write_flags) {
    std::array<uv_file, 2> ends{};
    if (const int failed = uv_pipe(ends.data(), read_flags, write_flags)) fail_to_start(options, failed);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
};

/// Of a child, non-blocking at the parent's ends.
struct ChildPipes {
  explicit ChildPipes(const SubprocessOptions& options)
      : in(options, 0, UV_NONBLOCK_PIPE), out(options, UV_NONBLOCK_PIPE, 0), err(options, UV_NONBLOCK_PIPE, 0) {}
  Pipe in, out, err;
};

/// Throws Error(unavailable) with the program and the reason. `process` is an initialised handle even then, and the
/// caller closes it.
void spawn(uv_loop_t* loop, uv_process_t& process, const SubprocessOptions& options, const ChildPipes& pipes,
           uv_exit_cb on_exit) {
  std::vector<std::string> argv = options.argv, environment = merged_environment(options.env);
  std::vector<char*> argv_pointers = pointers(argv), environment_pointers = pointers(environment);
  std::array<uv_stdio_container_t, 3> stdio{};
  const std::array<int, 3> child_ends{pipes.in.read_end.get(), pipes.out.write_end.get(), pipes.err.write_end.get()};
  for (std::size_t i = 0; i < stdio.size(); ++i) {
    stdio[i].flags = UV_INHERIT_FD;
    stdio[i].data.fd = child_ends[i];
  }
  uv_process_options_t what{};
  what.file = argv[0].c_str();
  what.args = argv_pointers.data();
  what.env = environment_pointers.data();
  what.cwd = options.cwd.empty() ? nullptr : options.cwd.c_str();
  what.flags =
      options.own_group ? UV_PROCESS_DETACHED : 0;  // setsid(): a group and a session, so no terminal signals either
  what.stdio_count = static_cast<int>(stdio.size());
  what.stdio = stdio.data();
  what.exit_cb = on_exit;
  if (const int failed = uv_spawn(loop, &process, &what)) fail_to_start(options, failed);
}

template <class Handle>
uv_handle_t* handle_of(Handle& handle) noexcept {
  return reinterpret_cast<uv_handle_t*>(&handle);
}
uv_stream_t* stream_of(uv_pipe_t& pipe) noexcept { return reinterpret_cast<uv_stream_t*>(&pipe); }
bool is_closing(uv_pipe_t& pipe) noexcept { return uv_is_closing(handle_of(pipe)) != 0; }

}  // namespace

struct Subprocess::State : std::enable_shared_from_this<Subprocess::State> {
  State(EventLoop& on, SubprocessOptions given) : loop(on), options(std::move(given)) {}

  EventLoop& loop;
  SubprocessOptions options;
  uv_process_t process;
  uv_pipe_t in, out, err;
  EventLoop::Watch grace;
  std::array<char, read_bytes> buffer;
  bool detached = false;
  std::int64_t started_ns = 0;
  struct End {
    int exit_code, signal;
    std::int64_t at_ns;
  };
  std::optional<End> end;  // set: it has ended
  int open_handles = 0;    // handles that libuv still uses
  int calls_inside = 0;    // callbacks on the stack: their captures must outlive them
  std::shared_ptr<State> self;

  void start();
  void adopt(uv_pipe_t& pipe, int fd);
  template <class Handle>
  void close(Handle& handle) noexcept;
  void write(std::string bytes);
  void on_read(uv_pipe_t& pipe, ssize_t count);
  void deliver(const std::function<void(std::string_view)>& callback, std::string_view bytes) noexcept;
  void ended(std::int64_t code, int by_signal) noexcept;
  void finish_if_all_read() noexcept;
  void send_signal(int signum) const noexcept;
  void detach() noexcept;
  void forget_callbacks() noexcept {
    if (calls_inside == 0) options.on_stdout = nullptr, options.on_stderr = nullptr, options.on_exit = nullptr;
  }
};

template <class Handle>
void Subprocess::State::close(Handle& handle) noexcept {
  if (uv_is_closing(handle_of(handle))) return;
  uv_close(handle_of(handle), [](uv_handle_t* closed) {
    auto* state = static_cast<State*>(closed->data);
    if (--state->open_handles == 0) std::exchange(state->self, nullptr).reset();
  });
}

void Subprocess::State::adopt(uv_pipe_t& pipe, int fd) {
  uv_pipe_init(loop.raw(), &pipe, 0);
  pipe.data = this;
  ++open_handles;
  uv_pipe_open(&pipe, fd);
}

void Subprocess::State::start() {
  ChildPipes ends(options);
  self = shared_from_this();
  ++open_handles;
  started_ns = system_clock().now_ns();
  try {
    spawn(loop.raw(), process, options, ends, [](uv_process_t* handle, std::int64_t code, int by_signal) {
      static_cast<State*>(handle->data)->ended(code, by_signal);
    });
  } catch (...) {
    process.data = this;
    close(process);
    forget_callbacks();
    throw;
  }
  process.data = this;
  adopt(in, ends.in.write_end.release());
  adopt(out, ends.out.read_end.release());
  adopt(err, ends.err.read_end.release());
  for (uv_pipe_t* pipe : {&out, &err}) {
    uv_read_start(
        stream_of(*pipe),
        [](uv_handle_t* handle, std::size_t, uv_buf_t* into) {
          auto* state = static_cast<State*>(handle->data);
          *into = uv_buf_init(state->buffer.data(), static_cast<unsigned>(state->buffer.size()));
        },
        [](uv_stream_t* stream, ssize_t count, const uv_buf_t*) {
          static_cast<State*>(stream->data)->on_read(*reinterpret_cast<uv_pipe_t*>(stream), count);
        });
  }
}

void Subprocess::State::deliver(const std::function<void(std::string_view)>& callback,
                                std::string_view bytes) noexcept {
  if (detached || !callback) return;
  const std::shared_ptr<State> keep = self;
  ++calls_inside;
  loop.guarded([&] { callback(bytes); });
  --calls_inside;
  if (detached) forget_callbacks();
}

void Subprocess::State::on_read(uv_pipe_t& pipe, ssize_t count) {
  if (count == 0) return;
  if (count > 0) {
    deliver(&pipe == &out ? options.on_stdout : options.on_stderr,
            std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    return;
  }
  close(pipe);
  finish_if_all_read();
}

void Subprocess::State::ended(std::int64_t code, int by_signal) noexcept {
  end = End{by_signal ? -1 : static_cast<int>(code), by_signal, system_clock().now_ns()};
  // This must happen now: the group's id is reserved only as long as the group has a member, and may be reused later.
  if (options.own_group) ::kill(-process.pid, SIGKILL);
  close(process);
  close(in);
  if (detached) return;
  loop.guarded([&] {
    grace = loop.call_after(stray_grace_ms, [this] {
      close(out);
      close(err);
      finish_if_all_read();
    });
  });
  finish_if_all_read();
}

void Subprocess::State::finish_if_all_read() noexcept {
  if (detached || !end || !is_closing(out) || !is_closing(err)) return;
  const std::shared_ptr<State> keep = self;
  grace.cancel();
  if (auto callback = std::exchange(options.on_exit, nullptr))
    loop.guarded([&] { callback(end->exit_code, end->signal); });
}

void Subprocess::State::send_signal(int signum) const noexcept {
  if (end) return;
  // First, while its children can still be found: a child that has made a session is in another group.
  if (options.own_group && signum == SIGKILL) loop.guarded([this] { kill_tree(process.pid); });
  ::kill(options.own_group ? -process.pid : process.pid, signum);
}

void Subprocess::State::write(std::string bytes) {
  if (bytes.empty() || end || is_closing(in)) return;
  struct Request {
    uv_write_t write;
    std::string bytes;
  };
  auto* request = new Request{{}, std::move(bytes)};
  request->write.data = request;
  uv_buf_t part{request->bytes.data(), request->bytes.size()};  // uv_buf_init counts in unsigned
  const auto written = [](uv_write_t* done, int) { delete static_cast<Request*>(done->data); };
  const WriteSignals quiet;
  // A child that has closed its stdin (EPIPE) shows this by its exit or its silence; there is nothing to report here.
  if (uv_write(&request->write, stream_of(in), &part, 1, written) != 0) delete request;
}

void Subprocess::State::detach() noexcept {
  detached = true;
  send_signal(SIGKILL);
  grace.cancel();
  close(in);
  close(out);
  close(err);
  // The process handle stays until the child is reaped, but nothing waits for that.
  if (!end) uv_unref(handle_of(process));
  forget_callbacks();
}

Subprocess::Subprocess(EventLoop& loop, SubprocessOptions options) {
  if (options.argv.empty() || options.argv[0].empty())
    throw CannotStart(ENOENT, "cannot start a program without a name");
  auto state = std::make_shared<State>(loop, std::move(options));
  state->start();
  state_ = std::move(state);
}

Subprocess::~Subprocess() {
  if (state_) state_->detach();
}

Subprocess::Subprocess(Subprocess&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this == &other) return *this;
  if (const auto old = std::exchange(state_, std::exchange(other.state_, nullptr))) old->detach();
  return *this;
}

void Subprocess::write(std::string bytes) {
  if (state_) state_->write(std::move(bytes));
}

void Subprocess::close_stdin() {
  if (!state_ || is_closing(state_->in)) return;
  auto* request = new uv_shutdown_t;
  request->data = state_.get();
  const auto flushed = [](uv_shutdown_t* done, int) {
    auto* state = static_cast<State*>(done->data);
    delete done;
    state->close(state->in);
  };
  if (uv_shutdown(request, stream_of(state_->in), flushed) == 0) return;
  delete request;
  state_->close(state_->in);
}

void Subprocess::read_pending_stderr() {
  uv_os_fd_t fd = -1;
  const std::shared_ptr<State> state = state_;
  if (!state || uv_fileno(handle_of(state->err), &fd) != 0) return;
  // The loop finds the end of the stream itself. This needs a separate buffer, because on_stdout may be reading the
  // shared one. It reads at most the size of the largest pipe, so that a child that writes without end cannot keep this
  // busy.
  std::array<char, 4096> bytes;
  for (std::size_t taken = 0; !state->detached && taken < (std::size_t{1} << 20);) {
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    taken += static_cast<std::size_t>(n);
    state->deliver(state->options.on_stderr, std::string_view(bytes.data(), static_cast<std::size_t>(n)));
  }
}

void Subprocess::kill_group(int signum) noexcept {
  if (state_) state_->send_signal(signum);
}

int Subprocess::pid() const noexcept { return state_ ? state_->process.pid : 0; }
std::int64_t Subprocess::started_ns() const noexcept { return state_ ? state_->started_ns : 0; }
std::int64_t Subprocess::ended_ns() const noexcept { return state_ && state_->end ? state_->end->at_ns : 0; }

Subprocess start_patiently(EventLoop& loop, const SubprocessOptions& options) {
  constexpr std::chrono::milliseconds first_wait{10}, longest_wait{640};
  for (std::chrono::milliseconds wait = first_wait;; wait *= 2) {
    try {
      return Subprocess(loop, options);
    } catch (const CannotStart& failure) {
      if (!may_pass_soon(failure.reason()) || wait > longest_wait) throw;
    }
    std::this_thread::sleep_for(wait);
  }
}

bool Subprocess::running() const noexcept {
  if (!state_ || state_->end) return false;
  siginfo_t ended{};
  // Checks without reaping, which is left to libuv.
  return ::waitid(P_PID, static_cast<id_t>(state_->process.pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

// A command whose output is collected up to limits, with a time limit; and the description of its end.

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
    state->timeout =
        Deadline(loop, static_cast<double>(options.timeout_ms) * 1e-3, state->child.pid(), [state](Expiry) {
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

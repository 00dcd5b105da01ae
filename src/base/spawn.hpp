// Starts a program with three pipes: the only place that uses the options of uv_spawn.
#pragma once

#include <uv.h>

#include <array>

namespace xtune::base {

struct SubprocessOptions;

/// Both ends of a pipe, closed on exec. A real pipe and not libuv's socket pair, because programs that open /dev/stdin
/// or /dev/stderr fail on sockets.
class PipeEnds {
 public:
  PipeEnds() = default;
  ~PipeEnds();
  PipeEnds(const PipeEnds&) = delete;
  PipeEnds& operator=(const PipeEnds&) = delete;
  /// Returns 0 or libuv's error; each flag is 0 or UV_NONBLOCK_PIPE.
  int open(int read_flags, int write_flags) noexcept { return uv_pipe(fds_.data(), read_flags, write_flags); }
  int read_end() const noexcept { return fds_[0]; }
  int write_end() const noexcept { return fds_[1]; }
  int release_read_end() noexcept;
  int release_write_end() noexcept;

 private:
  std::array<uv_file, 2> fds_{-1, -1};
};

/// The pipes of a child, non-blocking at the parent's ends.
struct ChildPipes {
  PipeEnds in, out, err;
  /// Throws Error(unavailable) if the process has no descriptors left.
  explicit ChildPipes(const SubprocessOptions& options);
};

/// Throws Error(unavailable) with the program and the reason. `process` is an initialised handle even then, and the
/// caller closes it.
void spawn(uv_loop_t* loop, uv_process_t& process, const SubprocessOptions& options, const ChildPipes& pipes,
           uv_exit_cb on_exit);

}  // namespace xtune::base

// An open file, closed at the end of its scope, and writes that fail with an error code, without a signal.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace xtune::system {

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const noexcept { return fd_; }
  /// Closes the current file and takes ownership of this one.
  void reset(int fd) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// While an object of this class exists, a write of this thread to a pipe without a reader (EPIPE), or past the limit
/// on a file's size (EFBIG), fails without SIGPIPE or SIGXFSZ. Both signals go to the writing thread, where they are
/// blocked, and pending ones are removed at the end. The process's actions for these signals do not change; a process
/// that ignores them does not need this class. Nests. Must be destroyed on the thread that created it.
class WriteSignals {
 public:
  WriteSignals() noexcept;
  ~WriteSignals();
  WriteSignals(const WriteSignals&) = delete;
  WriteSignals& operator=(const WriteSignals&) = delete;

 private:
  sigset_t before_;    ///< the thread's mask
  sigset_t expected_;  ///< signals that may arrive from now on: those that were not pending before
};

/// For work that runs for long without a turn of an event loop, whose callbacks hear of signals: while an object of
/// this class exists, SIGINT and SIGTERM wait in this thread, and asked() reports whether one of them came that the
/// process does not ignore. They arrive at the end. Must be destroyed on the thread that created it.
class SignalsHeard {
 public:
  SignalsHeard() noexcept;
  ~SignalsHeard();
  SignalsHeard(const SignalsHeard&) = delete;
  SignalsHeard& operator=(const SignalsHeard&) = delete;
  bool asked() const noexcept;

 private:
  sigset_t before_;  ///< the thread's mask
};

/// Writes all bytes, flushes them to the disk and closes the file. Returns the errno of the failure, or 0. Closing
/// counts: network file systems report a full disk there.
int write_all(Descriptor& file, std::string_view bytes);

/// Reads all of an open file. `path` is for messages. Throws Error(io) if it is larger than the limit or cannot
/// be read.
std::string read_all(const Descriptor& file, const std::filesystem::path& path, std::uint64_t limit_bytes);

/// Whether the path is, or would be, on a file system of this machine: locks of others may not work, and they have
/// another clock.
bool is_local(const std::filesystem::path& path);
/// Whether a process has the file open for writing, or mapped: changes through a mapping may leave its times as they
/// are. False where the system does not say it: for files of other users, and on servers.
bool has_writer(const std::filesystem::path& path);

}  // namespace xtune::system

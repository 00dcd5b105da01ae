// An open file, closed at the end of its scope.
#pragma once

#include <unistd.h>

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

/// Writes all bytes, flushes them to the disk and closes the file. Returns the errno of the failure, or 0. Closing
/// counts: network file systems report a full disk there.
int write_all(Descriptor& file, std::string_view bytes);

/// Reads all of an open file. `path` is for messages. Throws Error(io) if it is larger than the limit or cannot
/// be read.
std::string read_all(const Descriptor& file, const std::filesystem::path& path, std::uint64_t limit_bytes);

}  // namespace xtune::system

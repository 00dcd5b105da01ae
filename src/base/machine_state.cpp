// Answers by trying if that is cheap, since quotas and security modules cannot be queried in another way.
#include "base/machine_state.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/files.hpp"
#include "base/write_signals.hpp"

namespace xtune::base {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t min_free_bytes = std::uint64_t{1} << 20;

/// A new file in a directory, removed on destruction.
class ProbeFile {
 public:
  explicit ProbeFile(const fs::path& directory) : path_((directory / ".xtune-probe-XXXXXX").string()) {
    fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
    error_ = fd_ < 0 ? errno : 0;
  }
  ~ProbeFile() {
    close();
    if (error_ == 0) ::unlink(path_.c_str());
  }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  int error() const noexcept { return error_; }  ///< errno of creating it
  int fd() const noexcept { return fd_; }
  const char* path() const noexcept { return path_.c_str(); }
  /// Returns errno or 0: network file systems report a full disk here.
  int close() noexcept {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 ? 0 : errno;
  }

 private:
  std::string path_;
  int fd_ = -1, error_ = 0;
};

int write_error(ProbeFile& file) {
  // Not zeros, which need no space on a file system that compresses.
  std::array<unsigned char, 4096> bytes{};
  std::uint32_t state = 1;
  const WriteSignals quiet;
  for (int block = 0; block < 16; ++block) {
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>((state = state * 1664525 + 1013904223) >> 24);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(file.fd(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      done += static_cast<std::size_t>(n);
    }
  }
  return file.close();
}

}  // namespace

int room_error(const fs::path& directory) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return errno;
  if (std::uint64_t{info.f_bavail} * info.f_frsize < min_free_bytes) return ENOSPC;
  ProbeFile file(directory);
  return file.error() != 0 ? file.error() : write_error(file);
}

bool allows_programs(const fs::path& directory) {
  const ProbeFile file(directory);
  if (file.error() != 0 || ::fchmod(file.fd(), S_IRWXU) != 0) return true;
  // Linux refuses X_OK for a plain file of a noexec mount, also to root (access(2), EACCES).
  return ::access(file.path(), X_OK) == 0 || errno != EACCES;
}

std::uint64_t memory_kills(const fs::path& root) {
  constexpr std::string_view name = "\noom_kill ";
  const std::string text = "\n" + read_if_there(root / "proc/vmstat");
  const std::size_t at = text.find(name);
  std::uint64_t count = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at + name.size(), text.data() + text.size(), count);
  return count;
}

std::optional<bool> said_busy() {
  const char* const value = std::getenv("XTUNE_BUSY");
  const std::string_view word = value ? value : "";
  return word == "yes" || word == "no" ? std::optional(word == "yes") : std::nullopt;
}

bool is_busy(const fs::path& root, int cores) {
  if (const auto said = said_busy()) return *said;
  // "9.71 8.20 4.05 7/512 12345": averages of 1, 5 and 15 minutes; running processes, including this one, and all
  // processes.
  std::istringstream line(read_if_there(root / "proc/loadavg"));
  double average = 0, five_minutes = 0, quarter = 0;
  long running = 0;
  if (!(line >> average >> five_minutes >> quarter >> running)) return false;
  const double half = static_cast<double>(cores > 0 ? cores : ::sysconf(_SC_NPROCESSORS_ONLN)) / 2;
  return average > half && static_cast<double>(running - 1) > half;
}

bool is_shortage(int error) noexcept {
  switch (error) {
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case EFBIG:
    case ENOBUFS:
      return true;
    default:
      return false;
  }
}

bool may_pass_soon(int error) noexcept {
  switch (error) {
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ETXTBSY:
      return true;
    default:
      return false;
  }
}

}  // namespace xtune::base

// Files: whole reads, atomic writes, and standard paths.
#include "base/files.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/descriptor.hpp"
#include "base/text.hpp"
#include "base/trust.hpp"
#include "base/write_signals.hpp"
#include "xtune/error.hpp"

namespace xtune::base {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* doing, const fs::path& path, const std::string& reason) {
  throw Error(ErrorKind::io, std::string("cannot ") + doing + " " + printable(path.string()) + ": " + reason);
}

// Returns the errno of the failure, or 0. Closing counts: network file systems report a full disk there.
int write_and_sync(Descriptor& file, std::string_view bytes) {
  const WriteSignals quiet;
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) return errno;
  return ::close(file.release()) == 0 ? 0 : errno;
}

// 128 bits, in hexadecimal digits.
std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t filled = 0; filled < bytes.size();) {
    const ssize_t n = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (n < 0 && errno != EINTR) throw Error(ErrorKind::io, std::string("no random numbers: ") + std::strerror(errno));
    if (n > 0) filled += static_cast<std::size_t>(n);
  }
  std::string name;
  for (const unsigned char byte : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    name += digits[byte / 16U];
    name += digits[byte % 16U];
  }
  return name;
}

const char* set_variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

std::string read_file(const fs::path& path, std::uint64_t limit_bytes) {
  // Non-blocking, so that opening a FIFO without a writer returns.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail("read", path, std::strerror(errno));
  return read_all(file, path, limit_bytes);
}

std::string read_all(const Descriptor& file, const fs::path& path, std::uint64_t limit_bytes) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail("read", path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("read", path, "it is a directory");
  const auto too_large = [&] { fail("read", path, "it is larger than the limit of " + human_bytes(limit_bytes)); };
  const auto size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (size > limit_bytes) too_large();
  std::string bytes(size + 1, '\0');
  std::size_t filled = 0;
  // The size is only a hint: files in /proc have none, others may grow meanwhile.
  for (;;) {
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2 + 4096);
    const ssize_t n = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path, std::strerror(errno));
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
    if (filled > limit_bytes) too_large();
  }
  bytes.resize(filled);
  return bytes;
}

std::string read_if_there(const fs::path& path, std::uint64_t limit_bytes) {
  try {
    return read_file(path, limit_bytes);
  } catch (const Error&) {
    return {};
  }
}

std::string read_file_part(const fs::path& path, std::uint64_t offset, std::uint64_t bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail("read", path, std::strerror(errno));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail("read", path, std::strerror(errno));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (offset > size || bytes > size - offset) fail("read", path, "it is shorter than it should be");
  std::string text(bytes, '\0');
  for (std::size_t filled = 0; filled < text.size();) {
    const ssize_t n =
        ::pread(file.get(), text.data() + filled, text.size() - filled, static_cast<off_t>(offset + filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path, std::strerror(errno));
    if (n == 0) fail("read", path, "it is shorter than it should be");
    filled += static_cast<std::size_t>(n);
  }
  return text;
}

namespace {

// The temporary file has an unpredictable name and must be new: if other users can create names in the directory, their
// files are never opened. rights: permissions before the umask.
void write_atomically(const fs::path& path, std::string_view bytes, mode_t rights) {
  if (path.filename().empty()) fail("write", path, "it names no file");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (const std::error_code failed = make_directories(folder)) fail("create the directory", folder, failed.message());
  fs::path temporary;
  Descriptor file(-1);
  for (int attempt = 0; file.get() < 0; ++attempt) {
    temporary = folder / ("." + random_name() + ".tmp");
    file.reset(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, rights));
    if (file.get() < 0 && (errno != EEXIST || attempt == 100))
      fail("write in the directory", folder, std::strerror(errno));
  }
  int reason = write_and_sync(file, bytes);
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    fail("write", path, std::strerror(reason));
  }
  // The rename survives a power failure only after the directory is on disk. If directories cannot be synced, this is
  // left to the system.
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

}  // namespace

void write_file_atomically(const fs::path& path, std::string_view bytes) { write_atomically(path, bytes, 0644); }

void write_output_file(const std::filesystem::path& path, std::string_view bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) {
    const WriteSignals quiet;
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush())
      throw Error(ErrorKind::io, "cannot write " + printable(path.string()) + ": " + std::strerror(errno));
    return;
  }
  const bool link = fs::is_symlink(fs::symlink_status(path, error));
  const fs::path target = link ? fs::weakly_canonical(path, error) : path;
  write_atomically(target.empty() ? path : target, bytes, 0666);
  if (fs::is_regular_file(there)) fs::permissions(target, there.permissions(), error);
}

fs::path default_store() {
  if (const char* value = set_variable("XTUNE_CACHE_DIR")) return value;
  if (const char* value = set_variable("XDG_CACHE_HOME")) return fs::path(value) / "xtune";
  if (const char* value = set_variable("HOME")) return fs::path(value) / ".cache" / "xtune";
  return temporary_folder() / ("xtune-" + std::to_string(::geteuid()));
}

fs::path own_executable() {
  std::error_code failed;
  fs::path path = fs::read_symlink("/proc/self/exe", failed);
  if (failed) throw Error(ErrorKind::io, "cannot tell where this program is (/proc/self/exe): " + failed.message());
  return path;
}

}  // namespace xtune::base

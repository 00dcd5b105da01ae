// Files: whole reads, atomic writes, standard paths, and temporary directories whose names identify their owner, so
// that those of a killed process can be removed.
#include "system/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "system/descriptor.hpp"
#include "system/processes.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::system {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* doing, const fs::path& path, const std::string& reason) {
  throw Error(ErrorKind::io, std::string("cannot ") + doing + " " + base::printable(path.string()) + ": " + reason);
}

/// Reads until the room is full or the file ends; returns the number of bytes.
std::size_t read_into(const Descriptor& file, std::span<char> room, const fs::path& path) {
  std::size_t filled = 0;
  while (filled < room.size()) {
    const ssize_t n = ::read(file.get(), room.data() + filled, room.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path, std::strerror(errno));
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return filled;
}

/// Non-blocking, so that opening a FIFO without a writer returns.
Descriptor opened(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) fail("read", path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("read", path, "it is a directory");
  return file;
}

// 128 bits, in hexadecimal digits. glibc has the call's function from 2.25 on.
std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  for (std::size_t filled = 0; filled < bytes.size();) {
    const long n = ::syscall(SYS_getrandom, bytes.data() + filled, bytes.size() - filled, 0);
    if (n < 0 && errno != EINTR) throw Error(ErrorKind::io, std::string("no random numbers: ") + std::strerror(errno));
    if (n > 0) filled += static_cast<std::size_t>(n);
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

const char* set_variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

/// In clock ticks since boot (proc(5), field 22 of stat); empty: no such process, or one that has ended.
std::string start_time(int pid) {
  const std::vector<std::string> fields = base::split(process_stat(pid), ' ');
  const bool ended = fields.size() < 20 || fields[0] == "Z" || fields[0] == "X";
  return ended ? "" : fields[19];
}

/// The scope of process ids.
std::string machine() {
  const std::string scope = pid_scope();
  return scope.empty() ? base::sha256(host_name()).substr(0, 8) : scope;
}

constexpr std::string_view unknown_start = "0";

/// "xtune-<machine>-<pid>-<start>-".
std::string own_prefix() {
  std::string start = start_time(::getpid());
  if (start.empty()) start = unknown_start;
  return "xtune-" + machine() + "-" + std::to_string(::getpid()) + "-" + start + "-";
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_abandoned(const fs::path& folder, const std::string& here) {
  const std::vector<std::string> parts = base::split(folder.filename().string(), '-');
  if (parts.size() != 5 || parts[0] != "xtune" || parts[1] != here || !is_number(parts[2]) || !is_number(parts[3]))
    return false;
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return false;
  return parts[3] != unknown_start && start_time(std::atoi(parts[2].c_str())) != parts[3];
}

}  // namespace

std::string read_file(const fs::path& path, std::uint64_t limit_bytes) {
  return read_all(opened(path), path, limit_bytes);
}

std::string read_all(const Descriptor& file, const fs::path& path, std::uint64_t limit_bytes) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail("read", path, std::strerror(errno));
  const auto too_large = [&] {
    fail("read", path, "it is larger than the limit of " + base::human_bytes(limit_bytes));
  };
  const auto size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (size > limit_bytes) too_large();
  std::string bytes(size + 1, '\0');
  std::size_t filled = 0;
  // The size is only a hint: files in /proc have none, others may grow meanwhile.
  while ((filled += read_into(file, std::span(bytes).subspan(filled), path)) == bytes.size()) {
    if (filled > limit_bytes) too_large();
    bytes.resize(bytes.size() * 2 + 4096);
  }
  if (filled > limit_bytes) too_large();
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
  const Descriptor file = opened(path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail("read", path, std::strerror(errno));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  std::string text;
  if (offset <= size && bytes <= size - offset && ::lseek(file.get(), static_cast<off_t>(offset), SEEK_SET) >= 0) {
    text.resize(bytes);
    text.resize(read_into(file, text, path));
  }
  if (text.size() != bytes) fail("read", path, "it is shorter than it should be");
  return text;
}

WriteSignals::WriteSignals() noexcept {
  sigset_t pending;
  sigpending(&pending);
  sigemptyset(&expected_);
  for (const int signum : {SIGPIPE, SIGXFSZ})
    if (sigismember(&pending, signum) == 0) sigaddset(&expected_, signum);
  pthread_sigmask(SIG_BLOCK, &expected_, &before_);
}

WriteSignals::~WriteSignals() {
  const int reason = errno;
  const timespec at_once{};
  while (sigtimedwait(&expected_, nullptr, &at_once) > 0 || errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = reason;
}

namespace {
constexpr int ending_signals[] = {SIGINT, SIGTERM};
}  // namespace

SignalsHeard::SignalsHeard() noexcept {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int each : ending_signals) sigaddset(&ending, each);
  pthread_sigmask(SIG_BLOCK, &ending, &before_);
}

SignalsHeard::~SignalsHeard() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool SignalsHeard::asked() const noexcept {
  sigset_t waiting;
  sigpending(&waiting);
  return std::any_of(std::begin(ending_signals), std::end(ending_signals), [&](int each) {
    struct sigaction action {};
    return sigismember(&waiting, each) == 1 && sigismember(&before_, each) == 0 &&
           sigaction(each, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
  });
}

namespace {

int write_bytes(const Descriptor& file, std::string_view bytes) {
  const WriteSignals quiet;
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

int write_all(Descriptor& file, std::string_view bytes) {
  if (const int reason = write_bytes(file, bytes)) return reason;
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) return errno;
  return ::close(file.release()) == 0 ? 0 : errno;
}

namespace {

using Producer = std::function<void(const Sink&)>;

// The temporary file has an unpredictable name and must be new: if other users can create names in the directory, their
// files are never opened. rights: permissions before the umask.
void write_atomically(const fs::path& path, const Producer& write, mode_t rights) {
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
  const auto check = [&](int reason) {
    if (reason != 0) fail("write", path, std::strerror(reason));
  };
  try {
    write([&](std::string_view bytes) { check(write_bytes(file, bytes)); });
    check(write_all(file, ""));
    check(::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  // The rename survives a power failure only after the directory is on disk. If directories cannot be synced, this is
  // left to the system.
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

}  // namespace

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  write_atomically(
      path, [&](const Sink& sink) { sink(bytes); }, 0644);
}

void write_output_file(const fs::path& path, std::string_view bytes) {
  write_output_file(path, [&](const Sink& sink) { sink(bytes); });
}

void write_output_file(const fs::path& path, const Producer& write) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) {
    const Descriptor out(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (out.get() < 0) fail("write", path, std::strerror(errno));
    return write([&](std::string_view bytes) {
      if (const int reason = write_bytes(out, bytes)) fail("write", path, std::strerror(reason));
    });
  }
  const bool link = fs::is_symlink(fs::symlink_status(path, error));
  const fs::path target = link ? fs::weakly_canonical(path, error) : path;
  write_atomically(target.empty() ? path : target, write, 0666);
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

fs::path absolute_path(const fs::path& path) {
  std::error_code failed;
  fs::path whole = fs::absolute(path, failed);
  if (failed)
    throw Error(ErrorKind::io, "cannot determine the working directory (" + failed.message() + "), at which '" +
                                   path.string() + "' starts: change to one that is there");
  return whole;
}

fs::path temporary_folder() {
  for (const char* name : {"XTUNE_TMP_DIR", "TMPDIR"})
    if (const char* value = std::getenv(name); value && *value) return absolute_path(value);
  return "/tmp";
}

TemporaryDirectory::TemporaryDirectory() {
  const fs::path root = temporary_folder();
  std::error_code failed;
  fs::create_directories(root, failed);
  std::string name = (root / (own_prefix() + "XXXXXX")).string();
  if (!::mkdtemp(name.data())) {
    throw Error(ErrorKind::io, "cannot make a temporary directory in " + base::printable(root.string()) + ": " +
                                   std::strerror(errno) + " (XTUNE_TMP_DIR names another place)");
  }
  path_ = name;
  ::chmod(name.c_str(), S_IRWXU);  // independent of the umask
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

void remove_abandoned_temporaries() noexcept try {
  if (start_time(::getpid()).empty()) return;  // no /proc: owners cannot be checked
  const std::string here = machine();
  std::vector<fs::path> abandoned;
  std::error_code failed;
  for (fs::directory_iterator entry(temporary_folder(), failed), end; !failed && entry != end; entry.increment(failed))
    if (is_abandoned(entry->path(), here)) abandoned.push_back(entry->path());
  for (const fs::path& folder : abandoned) fs::remove_all(folder, failed);
} catch (...) {  // a failed cleanup must not end a run
}

std::string read_file_gunzipped(const fs::path& path, std::uint64_t limit_bytes) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::io, base::printable(path.string()) + ": " + why);
  };
  Descriptor file = opened(path);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> archive(::gzdopen(file.get(), "rb"), ::gzclose_r);
  if (!archive) fail("zlib cannot start");
  file.release();
  std::string text;
  for (;;) {
    const std::size_t before = text.size(), piece = std::size_t{1} << 18;
    text.resize(before + piece);
    const int n = ::gzread(archive.get(), text.data() + before, static_cast<unsigned>(piece));
    text.resize(before + static_cast<std::size_t>(std::max(n, 0)));
    if (text.size() > limit_bytes) fail("more than " + base::human_bytes(limit_bytes) + " once decompressed");
    if (n == static_cast<int>(piece)) continue;
    int code = Z_OK;
    std::string reason = ::gzerror(archive.get(), &code);
    if (const std::size_t end = reason.find(">: "); end != reason.npos) reason.erase(0, end + 3);  // "<fd:3>: "
    if (code == Z_BUF_ERROR) fail("the gzip archive is truncated: copy the file again");
    if (code != Z_OK && code != Z_STREAM_END) fail("the gzip archive is damaged: " + reason);
    return text;
  }
}

bool is_local(const fs::path& path) {
  // Named are those that are certainly local: a wrong guess costs time only.
  constexpr std::array<unsigned long, 10> local{0xEF53,       // ext2, ext3, ext4
                                                0x58465342,   // XFS
                                                0x9123683E,   // Btrfs
                                                0x01021994,   // tmpfs
                                                0x858458F6,   // ramfs
                                                0x794C7630,   // overlayfs
                                                0x2FC12FC1,   // ZFS
                                                0xF2F52010,   // F2FS
                                                0xCA451A4E,   // bcachefs
                                                0x3153464A};  // JFS
  fs::path place = fs::absolute(path);
  struct statfs info {};
  while (::statfs(place.c_str(), &info) != 0) {
    if (errno != ENOENT || !place.has_relative_path()) return false;
    place = place.parent_path();
  }
  return std::find(local.begin(), local.end(), static_cast<unsigned long>(info.f_type) & 0xFFFFFFFF) != local.end();
}

bool has_writer(const fs::path& path) {
  if (!is_local(path)) return false;  // NFS refuses all leases
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // A lease for reading is given only where no process writes. One that opens the file meanwhile waits for the lease to
  // end, and this process gets a signal: one that is ignored by default.
  if (file.get() < 0 || ::fcntl(file.get(), F_SETSIG, SIGURG) != 0) return false;
  if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  ::fcntl(file.get(), F_SETLEASE, F_UNLCK);
  return false;
}

std::string find_program(const std::string& name, const std::filesystem::path& folder) {
  const auto found_at = [](const std::filesystem::path& path) {
    std::error_code failed;
    const bool usable = std::filesystem::is_regular_file(path, failed) && access(path.c_str(), X_OK) == 0;
    return usable ? std::filesystem::absolute(path).string() : std::string();
  };
  if (name.empty()) return "";
  if (name.find('/') != std::string::npos) return found_at(folder / name);
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path place = end ? std::filesystem::path(rest.substr(0, end)) : folder / ".";
    if (std::string found = found_at(place / name); !found.empty()) return found;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

}  // namespace xtune::system

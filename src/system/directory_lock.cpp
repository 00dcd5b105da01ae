// flock(2): a lock belongs to the open file, so that several workers of one run exclude each other, too. On NFS an
// exclusive lock needs a file that is open for writing, which a directory cannot be.
#include "system/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

#include "system/descriptor.hpp"

namespace xtune::system {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_file = ".xtune.lock";

/// How this process has waited for directories. Never destroyed.
struct Waits {
  std::function<void(const std::string&)> listener;
  std::atomic<std::int64_t> total_ns{0};
  std::mutex mutex;
  std::set<fs::path> directories;  ///< guarded by the mutex
};

Waits& waits() {
  static auto& all = *new Waits;
  return all;
}

fs::path resolved(const fs::path& directory) {
  std::error_code error;
  fs::path real = fs::canonical(directory, error);
  return error ? directory : real;
}

/// Like flock, but repeated after signals. Returns errno; 0: it is locked.
int lock(int fd, int operation) {
  while (::flock(fd, operation) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

/// Calls the listener, and counts the time.
int wait_for(int fd, const fs::path& directory) {
  Waits& all = waits();
  {
    const std::lock_guard guard(all.mutex);
    all.directories.insert(directory);
  }
  const std::int64_t before_ns = awake_clock().now_ns();
  if (all.listener) all.listener(directory.string());
  const int error = lock(fd, LOCK_EX);
  all.total_ns += awake_clock().now_ns() - before_ns;
  if (all.listener) all.listener({});
  return error;
}

std::unique_ptr<Descriptor> locked(const fs::path& path, int flags, const fs::path& directory) {
  auto file = std::make_unique<Descriptor>(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file->get() < 0) return nullptr;
  int error = lock(file->get(), LOCK_EX | LOCK_NB);
  if (error == EWOULDBLOCK) error = wait_for(file->get(), directory);
  return error == 0 ? std::move(file) : nullptr;
}

class WorkingClock final : public Clock {
 public:
  std::int64_t now_ns() override { return awake_clock().now_ns() - waits().total_ns; }
  std::int64_t unix_time_ms() override { return awake_clock().unix_time_ms(); }
};

}  // namespace

DirectoryLock::DirectoryLock(std::vector<fs::path> directories) {
  for (fs::path& directory : directories) directory = resolved(directory);
  // In the same order in all processes, so that no two wait for each other.
  std::sort(directories.begin(), directories.end());
  directories.erase(std::unique(directories.begin(), directories.end()), directories.end());
  for (const fs::path& directory : directories) {
    auto held = locked(directory, O_RDONLY | O_DIRECTORY, directory);
    if (!held) held = locked(directory / lock_file, O_RDWR | O_CREAT, directory);
    if (held) held_.push_back(std::move(held));
  }
}

DirectoryLock::~DirectoryLock() = default;

void tell_of_waits(std::function<void(const std::string&)> listener) { waits().listener = std::move(listener); }

bool has_waited_for(const fs::path& directory) {
  const std::lock_guard guard(waits().mutex);
  return waits().directories.contains(resolved(directory));
}

Clock& working_clock() {
  // Never destroyed, as system_clock() is.
  static auto* clock = new WorkingClock;
  return *clock;
}

}  // namespace xtune::system

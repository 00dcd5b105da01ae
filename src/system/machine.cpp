// Reads /proc and the files of control groups, and tries what is cheap, since quotas and security modules cannot be
// queried in another way.
#include "system/machine.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/random.hpp"
#include "base/text.hpp"
#include "system/descriptor.hpp"
#include "system/files.hpp"

namespace xtune::system {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_up(const fs::path& mount, std::string_view group) {
  std::vector<fs::path> folders;
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    folders.push_back(path.empty() ? mount : mount / path);
    if (path.empty()) return folders;
  }
}

/// Version 1 mounts a hierarchy under the names of its controllers, and on most systems links each name to it.
fs::path mount_of(const fs::path& root, std::string_view controller, const std::string& all) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::error_code ignored;
  return fs::exists(mounts / controller, ignored) || !fs::exists(mounts / all, ignored) ? mounts / controller
                                                                                        : mounts / all;
}

constexpr std::uint64_t unlimited = (std::uint64_t{1} << 63) - 1;

/// nullopt: not a number, such as "max".
std::optional<std::uint64_t> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The number after a name at the start of a line.
std::optional<std::uint64_t> field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    if (text.starts_with(name)) return number_at(text.substr(name.size()));
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return std::nullopt;
}

/// The memory that one limit leaves; nullopt: there is no limit.
std::optional<std::uint64_t> left_in(int version, const fs::path& folder) {
  const auto limit = number_at(read_if_there(folder / (version == 2 ? "memory.max" : "memory.limit_in_bytes")));
  const auto usage = number_at(read_if_there(folder / (version == 2 ? "memory.current" : "memory.usage_in_bytes")));
  if (!limit || !usage) return std::nullopt;
  // Page cache that the kernel can reclaim.
  const char* const cache_field = version == 2 ? "inactive_file " : "total_inactive_file ";
  const std::uint64_t cache = field(read_if_there(folder / "memory.stat"), cache_field).value_or(0);
  const std::uint64_t used = *usage - std::min(cache, *usage);
  return *limit - std::min(used, *limit);
}

// The default of Linux, on which programs rely.
constexpr rlim_t usual_stack_bytes = rlim_t{8} << 20;

bool own_address_space = false;

struct Limit {
  decltype(RLIMIT_CPU) resource;
  const char* text;
  rlim_t enough;
};

constexpr std::uint64_t min_free_bytes = std::uint64_t{1} << 20;

/// A new file in a directory, removed on destruction.
struct ProbeFile {
  explicit ProbeFile(const fs::path& directory) : path((directory / ".xtune-probe-XXXXXX").string()) {
    file.reset(::mkostemp(path.data(), O_CLOEXEC));
    error = file.get() < 0 ? errno : 0;
  }
  ~ProbeFile() {
    if (error == 0) ::unlink(path.c_str());
  }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;

  std::string path;
  Descriptor file{-1};
  int error;  ///< errno of creating it
};

}  // namespace

std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& root) {
  std::vector<ControlGroup> found;
  const std::string groups = read_if_there(root / "proc/self/cgroup");
  // "0::/path" of version 2, "7:cpu,memory:/path" of version 1.
  for (const std::string_view line : base::split_lines(groups)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty())
      found.push_back({2, folders_up(root / "sys/fs/cgroup", group)});
    else if (("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos)
      found.push_back({1, folders_up(mount_of(root, controller, controllers), group)});
  }
  return found;
}

std::int64_t cpu_quota_milli(const fs::path& root) {
  std::int64_t least = 0;
  for (const ControlGroup& group : control_groups("cpu", root))
    for (const fs::path& folder : group.folders) {
      std::string quota, period;
      if (group.version == 2) {
        quota = read_if_there(folder / "cpu.max");  // "20000 100000"
        period = quota.substr(std::min(quota.find(' '), quota.size()));
      } else {
        quota = read_if_there(folder / "cpu.cfs_quota_us");
        period = read_if_there(folder / "cpu.cfs_period_us");
      }
      const auto microseconds = static_cast<double>(number_at(quota).value_or(0));
      const auto per = static_cast<double>(number_at(period).value_or(0));
      if (microseconds == 0 || per == 0) continue;
      const auto milli = std::max<std::int64_t>(1, static_cast<std::int64_t>(microseconds / per * 1000 + 0.5));
      least = least == 0 ? milli : std::min(least, milli);
    }
  return least;
}

unsigned usable_cpus() {
  // A machine may have more CPUs than a plain cpu_set_t has bits.
  for (int bits = CPU_SETSIZE; bits <= (1 << 20); bits *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(bits));
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(bits));
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<unsigned>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

std::uint64_t available_memory_bytes(const fs::path& root) {
  std::uint64_t least = unlimited;
  if (const auto kib = field(read_if_there(root / "proc/meminfo"), "MemAvailable:")) least = *kib * 1024;
  for (const ControlGroup& group : control_groups("memory", root))
    for (const fs::path& folder : group.folders)
      if (const auto bytes = left_in(group.version, folder)) least = std::min(least, *bytes);
  return least;
}

std::uint64_t machine_memory_bytes(const fs::path& root) {
  const auto kib = field(read_if_there(root / "proc/meminfo"), "MemTotal:");
  return kib ? *kib * 1024 : unlimited;
}

std::uint64_t held_memory_bytes() {
  const std::string status = read_if_there("/proc/self/status");
  return (field(status, "VmRSS:").value_or(0) + field(status, "VmSwap:").value_or(0)) * 1024;
}

std::uint64_t peak_memory_bytes() { return field(read_if_there("/proc/self/status"), "VmHWM:").value_or(0) * 1024; }

std::string user_limits() {
  const Limit limits[] = {{RLIMIT_CPU, "CPU time (ulimit -t)", RLIM_INFINITY},
                          {RLIMIT_FSIZE, "file size (ulimit -f)", RLIM_INFINITY},
                          {RLIMIT_DATA, "data (ulimit -d)", RLIM_INFINITY},
                          {RLIMIT_AS, "address space (ulimit -v)", RLIM_INFINITY},
                          {RLIMIT_STACK, "the stack (ulimit -s)", usual_stack_bytes}};
  std::string text;
  for (const Limit& limit : limits) {
    rlimit now{};
    if (limit.resource == RLIMIT_AS && own_address_space) continue;
    if (getrlimit(limit.resource, &now) != 0 || now.rlim_cur >= limit.enough) continue;
    text += (text.empty() ? "a limit on " : " and on ") + std::string(limit.text);
  }
  return text;
}

void limit_address_space(std::uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  own_address_space = setrlimit(RLIMIT_AS, &limit) == 0;
}

int room_error(const fs::path& directory) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return errno;
  if (std::uint64_t{info.f_bavail} * info.f_frsize < min_free_bytes) return ENOSPC;
  ProbeFile probe(directory);
  if (probe.error != 0) return probe.error;
  std::string bytes(std::size_t{64} << 10, '\0');
  base::Random random(1);  // not zeros, which need no space on a file system that compresses
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return write_all(probe.file, bytes);
}

bool allows_programs(const fs::path& directory) {
  const ProbeFile probe(directory);
  if (probe.error != 0 || ::fchmod(probe.file.get(), S_IRWXU) != 0) return true;
  // Linux refuses X_OK for a plain file of a noexec mount, also to root (access(2), EACCES).
  return ::access(probe.path.c_str(), X_OK) == 0 || errno != EACCES;
}

std::uint64_t memory_kills(const fs::path& root) {
  return field(read_if_there(root / "proc/vmstat"), "oom_kill ").value_or(0);
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
  return (may_pass_soon(error) && error != ETXTBSY) || error == ENOSPC || error == EDQUOT || error == EROFS ||
         error == EFBIG || error == ENOBUFS;
}

bool may_pass_soon(int error) noexcept {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == ETXTBSY;
}

}  // namespace xtune::system

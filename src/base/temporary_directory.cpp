// Temporary directories whose names identify their owner, so that those of a killed process can be removed.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/absolute_path.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/host_name.hpp"
#include "base/process_gone.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::base {
namespace {

namespace fs = std::filesystem;

/// In clock ticks since boot (proc(5), field 22 of stat); empty: no such process, or one that has ended.
std::string start_time(const std::string& pid) {
  const std::string stat = read_if_there("/proc/" + pid + "/stat");
  // The program's name, in parentheses, may contain any characters.
  std::size_t at = stat.rfind(')');
  if (at == std::string::npos || at + 2 >= stat.size()) return {};
  if (stat[at + 2] == 'Z' || stat[at + 2] == 'X') return {};
  for (int field = 2; field < 22; ++field) {
    at = stat.find(' ', at + 1);
    if (at == std::string::npos) return {};
  }
  return stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

/// The scope of process ids.
std::string machine() {
  const std::string scope = pid_scope();
  return scope.empty() ? sha256(host_name()).substr(0, 8) : scope;
}

constexpr std::string_view unknown_start = "0";

/// "xtune-<machine>-<pid>-<start>-".
std::string own_prefix() {
  const std::string pid = std::to_string(::getpid());
  std::string start = start_time(pid);
  if (start.empty()) start = unknown_start;
  return "xtune-" + machine() + "-" + pid + "-" + start + "-";
}

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('-', at), name.size());
    parts.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_abandoned(const fs::path& folder, const std::string& here) {
  const std::vector<std::string> parts = parts_of(folder.filename().string());
  if (parts.size() != 5 || parts[0] != "xtune" || parts[1] != here || !is_number(parts[2]) || !is_number(parts[3]))
    return false;
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return false;
  return parts[3] != unknown_start && start_time(parts[2]) != parts[3];
}

}  // namespace

fs::path temporary_folder() {
  for (const char* name : {"XTUNE_TMP_DIR", "TMPDIR", "SLURM_TMPDIR"})
    if (const char* value = std::getenv(name); value && *value) return absolute_path(value);
  return "/tmp";
}

TemporaryDirectory::TemporaryDirectory() {
  const fs::path root = temporary_folder();
  std::error_code failed;
  fs::create_directories(root, failed);
  std::string name = (root / (own_prefix() + "XXXXXX")).string();
  if (!::mkdtemp(name.data())) {
    throw Error(ErrorKind::io, "cannot make a temporary directory in " + printable(root.string()) + ": " +
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
  if (start_time(std::to_string(::getpid())).empty()) return;  // no /proc: owners cannot be checked
  const std::string here = machine();
  std::vector<fs::path> abandoned;
  std::error_code failed;
  for (fs::directory_iterator entry(temporary_folder(), failed), end; !failed && entry != end; entry.increment(failed))
    if (is_abandoned(entry->path(), here)) abandoned.push_back(entry->path());
  for (const fs::path& folder : abandoned) fs::remove_all(folder, failed);
} catch (...) {  // a failed cleanup must not end a run
}

}  // namespace xtune::base

// Uses signal 0 and proc(5).
#include "base/process_gone.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/host_name.hpp"

namespace xtune::base {

std::string pid_scope() {
  std::error_code error;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  const std::string boot = read_if_there("/proc/sys/kernel/random/boot_id");
  if (space.empty() || boot.empty()) return {};
  return sha256(host_name() + "\n" + boot + "\n" + space).substr(0, 8);
}

bool process_is_gone(int pid) noexcept try {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  const std::string stat = read_if_there("/proc/" + std::to_string(pid) + "/stat");
  // After the program's name in parentheses, which may contain any characters.
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < stat.size() &&
         (stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X');
} catch (...) {
  return false;
}

}  // namespace xtune::base

// A signal that is none, and proc(5).
#include "base/process_gone.hpp"

#include <cerrno>
#include <csignal>
#include <string>

#include "base/files.hpp"

namespace xtune {

bool process_is_gone(int pid) noexcept try {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  const std::string stat = read_if_there("/proc/" + std::to_string(pid) + "/stat");
  // Behind the program's name in parentheses, which may hold anything.
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && name_end + 2 < stat.size() &&
         (stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X');
} catch (...) {
  return false;
}

}  // namespace xtune

// Process trees from /proc/PID/task/TID/children, and what else proc(5) has of a process.
#include "system/processes.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>
#include <thread>

#include "base/hash.hpp"
#include "system/files.hpp"

namespace xtune::system {

namespace {

// A process that forks faster than it can be killed is given up.
constexpr int max_rounds = 1000;
constexpr double last_wait_s = 5;

enum class Ended { is_reaped, stays };

/// Waits for the end of a child. False: it is no longer a child of this process, or did not end in time.
bool wait_for_end(int pid, Ended ended, const std::function<bool()>& in_time) {
  for (;;) {
    siginfo_t end{};
    const int stays = ended == Ended::stays ? WNOWAIT : 0;
    if (::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | stays) != 0) return false;
    if (end.si_pid == pid) return true;
    if (!in_time()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void adopt_orphans() noexcept { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::vector<int> children_of(int pid) {
  std::vector<int> children;
  std::error_code ignored;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator task(tasks, ignored), end; task != end; task.increment(ignored)) {
    std::ifstream in(task->path() / "children");
    for (int child = 0; in >> child;) children.push_back(child);
  }
  return children;
}

void kill_tree(int pid) {
  // Stopped first: a stopped process starts no others while its children are searched.
  if (::kill(pid, SIGSTOP) != 0) return;
  for (const int child : children_of(pid)) kill_tree(child);
  ::kill(pid, SIGKILL);
}

namespace {

int kill_children(std::vector<int> but, double wait_s, Ended ended) {
  int killed = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto in_time = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < wait_s;
  };
  for (int round = 0; round < max_rounds; ++round) {
    std::vector<int> strays;
    for (const int child : children_of(::getpid()))
      if (std::find(but.begin(), but.end(), child) == but.end()) strays.push_back(child);
    if (strays.empty()) break;
    for (const int stray : strays) {
      kill_tree(stray);
      if (wait_for_end(stray, ended, in_time)) ++killed;
      if (ended == Ended::stays) but.push_back(stray);
    }
    if (!in_time()) break;
  }
  return killed;
}

}  // namespace

int kill_children_but(const std::vector<int>& spared, double wait_s) {
  return kill_children(spared, wait_s, Ended::is_reaped);
}

Descendants::Descendants() : earlier_(children_of(::getpid())) { adopt_orphans(); }

Descendants::~Descendants() { kill_children(earlier_, last_wait_s, Ended::stays); }

std::string pid_scope() {
  std::error_code error;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  const std::string boot = read_if_there("/proc/sys/kernel/random/boot_id");
  if (space.empty() || boot.empty()) return {};
  return base::sha256(host_name() + "\n" + boot + "\n" + space).substr(0, 8);
}

std::string process_stat(int pid) {
  const std::string stat = read_if_there("/proc/" + std::to_string(pid) + "/stat");
  // The program's name, in parentheses, may contain any characters.
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? "" : stat.substr(name_end + 2);
}

bool process_is_gone(int pid) noexcept try {
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  const std::string stat = process_stat(pid);
  return stat.starts_with('Z') || stat.starts_with('X');
} catch (...) {
  return false;
}

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 && *name ? name : "unknown";
}

}  // namespace xtune::system

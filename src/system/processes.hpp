// The processes that this one has started, directly or indirectly, and whether a process still exists.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace xtune::system {

/// From now on, a descendant of this process whose parent ends becomes a child of this process. It cannot escape this,
/// neither with a new session nor by forking twice. Children do not inherit this.
void adopt_orphans() noexcept;

/// The children of a process, from /proc; empty if /proc does not report them.
std::vector<int> children_of(int pid);

/// Kills (SIGKILL) all children of this process except those in `spared`, and all their descendants, until none is
/// left; reaps them. Call adopt_orphans() first. Waits up to wait_s for a process that survives its kill because it is
/// in a call of a driver. Returns the number of processes.
int kill_children_but(const std::vector<int>& spared, double wait_s = std::numeric_limits<double>::infinity());

/// Kills the process and everything that it has started; its parent reaps it.
void kill_tree(int pid);

/// Adopts orphans. On destruction it kills all processes that this process has started since, with their descendants,
/// and waits up to 5 seconds for them to end. It does not reap them: event loops reap their own children, and orphans
/// end with this process. Do not use it in a process where other code starts children, too.
class Descendants {
 public:
  Descendants();
  ~Descendants();
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

 private:
  std::vector<int> earlier_;
};

/// What proc(5) has in /proc/PID/stat after the program's name: the state, then the other fields. Empty: no such
/// process.
std::string process_stat(int pid);

/// The scope in which process ids are unique: 8 hex digits for this boot of this machine and this PID namespace (a
/// container may have the machine's host name and its own ids). Empty if the system does not report it (no /proc).
std::string pid_scope();

/// Whether no process here has this id, or the process has ended and its parent has not reaped it (the first process of
/// some containers never does). Only for ids above zero. Returns false if this cannot be determined.
bool process_is_gone(int pid) noexcept;

/// The name from gethostname(2); "unknown" if it has none. Processes that write the name and processes that compare it
/// use this function.
std::string host_name();

}  // namespace xtune::system

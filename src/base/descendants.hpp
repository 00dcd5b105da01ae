// The processes that a process has started, directly or not: found, and killed to the last.
#pragma once

#include <limits>
#include <vector>

namespace xtune::base {

/// From now on a descendant of this process whose parent ends becomes this process' child, and cannot get away from it:
/// neither by a session of its own nor by forking twice. Children do not inherit this.
void adopt_orphans() noexcept;

/// By /proc; empty where it does not tell.
std::vector<int> children_of(int pid);

/// Kills (SIGKILL) all children of this process but those in `spared`, with all that these have started, until none is
/// left; reaps them. adopt_orphans() comes first. A process that outlives its kill, because it is in a call of a
/// driver, is waited for as long as wait_s. Returns how many there were.
int kill_children_but(const std::vector<int>& spared, double wait_s = std::numeric_limits<double>::infinity());

/// Kills what the process has started, and the process; its parent reaps it.
void kill_tree(int pid);

/// Adopts orphans. On destruction it kills what this process has started since, with all that these have started, and
/// waits up to 5 seconds for their ends. It reaps none of them: event loops reap their own, and orphans go with this
/// process. Not for a process in which others start children, too.
class Descendants {
 public:
  Descendants();
  ~Descendants();
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

 private:
  std::vector<int> earlier_;
};

}  // namespace xtune::base

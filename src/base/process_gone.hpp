// Whether a process still exists.
#pragma once

#include <string>

namespace xtune::base {

/// The scope in which process ids are unique: 8 hex digits for this boot of this machine and this PID namespace (a
/// container may have the machine's host name and its own ids). Empty if the system does not report it (no /proc).
std::string pid_scope();

/// Whether no process here has this id, or the process has ended and its parent has not reaped it (the first process of
/// some containers never does). Only for ids above zero. Returns false if this cannot be determined.
bool process_is_gone(int pid) noexcept;

}  // namespace xtune::base

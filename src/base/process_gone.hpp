// Whether a process is still there.
#pragma once

#include <string>

namespace xtune::base {

/// Where process ids mean the same: 8 hex digits of this boot of this machine and this PID namespace (a container may
/// have the machine's host name and ids of its own). Empty where the system does not say (no /proc).
std::string pid_scope();

/// Whether no process here has this number, or one that has ended and that its parent has not asked about yet, which
/// some containers' first process never does. For numbers above zero; what cannot be told counts as there.
bool process_is_gone(int pid) noexcept;

}  // namespace xtune::base

// Whether a process is still there.
#pragma once

namespace xtune {

/// Whether no process here has this number, or one that has ended and that its parent has not asked about yet, which
/// some containers' first process never does. For numbers above zero; what cannot be told counts as there.
bool process_is_gone(int pid) noexcept;

}  // namespace xtune

// Where the xtune program is, whose worker processes the library starts.
#pragma once

namespace xtune {

/// Sets worker_program(): XTUNE_PROGRAM; else what was installed or built with this library; else the first in PATH.
/// Throws Error(unavailable) that lists where it was looked for.
void find_worker_program();

}  // namespace xtune

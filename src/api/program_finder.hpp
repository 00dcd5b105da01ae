// Finds the xtune program, whose worker processes the library starts.
#pragma once

namespace xtune {

/// Sets worker_program(): XTUNE_PROGRAM; else the one installed or built with this library; else the first in PATH.
/// Throws Error(unavailable) with the places that were searched.
void find_worker_program();

}  // namespace xtune

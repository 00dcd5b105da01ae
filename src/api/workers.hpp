// The xtune program, whose worker processes the library starts, and a compiler in one of them.
#pragma once

#include <memory>
#include <string>

#include "core/build/artifact.hpp"
#include "worker/ipc/target.hpp"

namespace xtune {

/// Sets worker_program(): XTUNE_PROGRAM; else the one installed or built with this library; else the first in PATH.
/// Throws Error(unavailable) with the places that were searched.
void find_worker_program();

/// With the compiler that is selected in `backend`. Starts a worker for each compilation; requires find_worker_program.
/// timeout_s: for one compilation. Throws Error(unavailable) if the backend has no compiler.
std::unique_ptr<build::Toolchain> make_worker_toolchain(run::BackendState backend, double timeout_s);

}  // namespace xtune

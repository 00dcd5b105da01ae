// A compiler in a worker process, for programs that a crash of the vendor's compiler must not end.
#pragma once

#include <memory>
#include <string>

#include "core/build/artifact.hpp"
#include "core/target/inventory.hpp"

namespace xtune {

/// With the compiler that is selected in `backend`. Starts a worker for each compilation; requires find_worker_program.
/// timeout_s: for one compilation. Throws Error(unavailable) if the backend has no compiler.
std::unique_ptr<build::Toolchain> make_worker_toolchain(target::BackendState backend, double timeout_s);

}  // namespace xtune

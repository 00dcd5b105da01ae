// Compiles kernels for the CPU with the system's compiler.
#pragma once

#include <memory>

#include "core/build/artifact.hpp"

namespace xtune::host {

/// Throws Error(unavailable) if there is no compiler. The artifacts' format is "so": shared libraries that export
/// xtune_kernel (runtime/xtune_host_abi.h); with `sanitize` they need a process with AddressSanitizer (sanitizer.hpp).
std::unique_ptr<build::Toolchain> make_toolchain();

}  // namespace xtune::host

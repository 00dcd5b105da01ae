// Compiles Kokkos translation units in the way of Kokkos' users.
#pragma once

#include <memory>

#include "core/build/artifact.hpp"

namespace xtune::kokkos {

/// Throws Error(unavailable) if there is no Kokkos, none with the requested execution space, or no compiler. The
/// artifacts' format is "so": shared libraries that export xtune_kokkos_unit (runtime/kokkos_abi.h).
std::unique_ptr<build::Toolchain> make_toolchain();

}  // namespace xtune::kokkos

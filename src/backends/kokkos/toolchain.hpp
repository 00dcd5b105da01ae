// Compiles Kokkos translation units as Kokkos' users are compiled.
#pragma once

#include <memory>

#include "core/build/artifact.hpp"

namespace xtune::kokkos {

/// Throws Error(unavailable) when there is no Kokkos, none with the execution space that is asked for, or no compiler.
/// The artifacts' format is "so": shared libraries that export xtune_kokkos_unit (runtime/kokkos_abi.h).
std::unique_ptr<build::Toolchain> make_toolchain();

}  // namespace xtune::kokkos

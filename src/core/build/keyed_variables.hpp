// Environment variables that decide what commands do. The one list of them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace xtune {

using Variables = std::map<std::string, std::string>;

/// Those that compilers, make and CMake read, as far as they are set, and those in `named`. Of MAKEFLAGS without what
/// only says how many jobs run (-j, --jobserver-auth).
Variables build_variables(const std::vector<std::string>& named = {});
/// Those that decide how fast a program runs: of OpenMP and its runtimes, BLAS, Kokkos, GPU runtimes, the dynamic
/// linker and malloc. And those in `named`.
Variables run_variables(const std::vector<std::string>& named = {});

}  // namespace xtune

// The header that kernels find on every backend: <xtune/portable.cuh>, kept as text inside the program.
#pragma once

#include <string_view>

namespace xtune::build {

/// As an include names it.
inline constexpr const char* portable_header_name = "xtune/portable.cuh";

/// include/xtune/portable.cuh. Generated at configure time.
std::string_view portable_header();

}  // namespace xtune::build

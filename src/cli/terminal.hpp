// What the terminal can show.
#pragma once

#include <cstddef>

namespace xtune::cli {

/// Columns of the terminal behind a file descriptor: COLUMNS where it is set, as users do in scripts, else what the
/// terminal says; 80 where there is none.
std::size_t terminal_width(int descriptor);

}  // namespace xtune::cli

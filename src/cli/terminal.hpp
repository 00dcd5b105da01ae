// Properties of the terminal.
#pragma once

#include <cstddef>

namespace xtune::cli {

/// The width of the terminal behind a file descriptor: COLUMNS if it is set, which scripts do, else the terminal's own;
/// 80 if there is none.
std::size_t terminal_width(int descriptor);

}  // namespace xtune::cli

// The error in a compiler's log.
#pragma once

#include <string>

namespace xtune::build {

/// The line of the first error in a compiler's or an assembler's log, printable; if there is none, the first line.
std::string first_error(const std::string& log);

}  // namespace xtune::build

// What a compiler's log says is wrong.
#pragma once

#include <string>

namespace xtune::build {

/// The line of the first error of a compiler's or an assembler's log, printable; where it names none, the first line.
std::string first_error(const std::string& log);

}  // namespace xtune::build

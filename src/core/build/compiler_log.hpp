// The error in a compiler's log.
#pragma once

#include <string>
#include <string_view>

namespace xtune::build {

/// The line of the first error in a compiler's or an assembler's log, printable; if there is none, the first line.
std::string first_error(const std::string& log);

/// The message of an error in a header of xtune, which begins with a path in `directory`: without the directory, and
/// with the line of the source that the log names for the error: "xtune/hopper.cuh:48:35: error: ... (from k.cu:9:30)".
/// Other messages as they are.
std::string error_in_header(const std::string& message, std::string_view log, const std::string& directory);

}  // namespace xtune::build

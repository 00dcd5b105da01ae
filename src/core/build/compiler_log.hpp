// What a compiler's log says of the machine rather than of the source.
#pragma once

#include <string>

namespace xtune {

/// For the log of a compile that failed. Returns when the source is to blame, as far as the log tells. Otherwise throws
/// Error(io) where a disk was full or unwritable, Error(unavailable) where a part of the compiler could not be started
/// (no assembler or linker, no process), and CandidateFailure(crashed) where the compiler ran out of memory or was
/// killed: that may well be this configuration's doing, and another day it may pass. Diagnostics that quote the source
/// ("k.cu:7: error: ...") count as nothing but the source's. Words: GCC 12, Clang 14, GNU binutils 2.40.
void throw_if_not_the_source(const std::string& compiler, const std::string& log);

/// The line of the first error of a compiler's log, printable; where it names none, the first line.
std::string first_error(const std::string& log);

}  // namespace xtune

// The environment of a process that runs sanitized kernels.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xtune::host {

/// LD_PRELOAD with the sanitizer libraries of the toolchain's compiler (none if this program was itself built with
/// AddressSanitizer: a child has it too), and options with which a report shows the line and ends the process with exit
/// code 99. Throws Error(unavailable) if there is no compiler or it has no such libraries.
std::vector<std::pair<std::string, std::string>> sanitizer_environment();

}  // namespace xtune::host

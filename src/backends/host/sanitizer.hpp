// What the process that runs sanitized kernels needs in its environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xtune::host {

/// LD_PRELOAD with the sanitizer libraries of the compiler that the toolchain uses (none when this program was itself
/// built with AddressSanitizer: a child has it too), and options under which a report names the line and ends the
/// process with exit code 99. Throws Error(unavailable) when there is no compiler or it comes without the libraries.
std::vector<std::pair<std::string, std::string>> sanitizer_environment();

}  // namespace xtune::host

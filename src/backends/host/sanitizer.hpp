// What the process that runs sanitized kernels needs in its environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xtune::host {

/// LD_PRELOAD with the sanitizer libraries of the compiler that the toolchain uses, and options under which a report
/// names the line and the process ends with exit code 99. Empty when this process has AddressSanitizer built in: a
/// child has it too. Throws Error(unavailable) when there is no compiler or it comes without the libraries.
std::vector<std::pair<std::string, std::string>> sanitizer_environment();

}  // namespace xtune::host

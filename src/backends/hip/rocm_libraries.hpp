// ROCm's libraries, of which a system may have several releases.
#pragma once

#include <string>
#include <vector>

#include "base/dynamic_library.hpp"

namespace xtune::hip {

/// Opens ROCm's shared library with one of these stems ("hiprtc", "amdhip64"), of any release since 5. Prefers the
/// release whose runtime the process has loaded already; else the first stem, and for it ROCM_PATH and HIP_PATH, the
/// loader's path, then /opt/rocm; in each the file without a version, then the newest. Throws as
/// base::DynamicLibrary::open.
base::DynamicLibrary open_rocm_library(const std::vector<std::string>& stems);

}  // namespace xtune::hip

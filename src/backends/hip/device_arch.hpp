// The architecture of a device from HIP's device properties, whose structure changed in ROCm 6.
#pragma once

#include <functional>
#include <string>

namespace xtune::hip {

/// "gfx90a:sramecc+:xnack-", as reported by the library; empty if it is not. `find`: returns a symbol's address in
/// HIP's library, or nullptr. status: of the call, 0 for success.
std::string device_arch(const std::function<void*(const char* symbol)>& find, int index, int* status);

}  // namespace xtune::hip

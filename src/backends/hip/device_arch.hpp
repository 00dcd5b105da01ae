// Which architecture a device has, from HIP's device properties, whose structure changed in ROCm 6.
#pragma once

#include <functional>
#include <string>

namespace xtune::hip {

/// "gfx90a:sramecc+:xnack-", as the library says; empty where it does not tell. `find`: a symbol's address in HIP's
/// library, nullptr where it has none. status: of the call, 0 for success.
std::string device_arch(const std::function<void*(const char* symbol)>& find, int index, int* status);

}  // namespace xtune::hip

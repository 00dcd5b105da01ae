// Launches on the application's HIP devices.
#pragma once

#include <memory>

#include "backends/runtime.hpp"

namespace xtune::hip {

/// Throws Error(unavailable) if there is no driver.
std::shared_ptr<backend::Runtime> make_runtime();

}  // namespace xtune::hip

// Kernels of the host backend, launched from an application's own threads.
#pragma once

#include <memory>

#include "backends/runtime.hpp"

namespace xtune::host {

/// Returns the same object as long as it is in use.
std::shared_ptr<backend::Runtime> runtime();

}  // namespace xtune::host

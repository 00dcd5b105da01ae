// Kernels of the host backend, launched from an application's own threads.
#pragma once

#include <memory>

#include "backends/runtime.hpp"

namespace xtune::host {

/// The same one as long as somebody holds it.
std::shared_ptr<backend::Runtime> runtime();

}  // namespace xtune::host

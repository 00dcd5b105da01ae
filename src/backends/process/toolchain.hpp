// Builds programs with the command of their spec.
#pragma once

#include <memory>

#include "core/build/artifact.hpp"

namespace xtune::process {

/// The image of an artifact is the file that the command writes to {out}; empty if the request has no command.
std::unique_ptr<build::Toolchain> make_toolchain();

}  // namespace xtune::process

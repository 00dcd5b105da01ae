// Builds programs by their spec's own command.
#pragma once

#include <memory>

#include "core/build/artifact.hpp"

namespace xtune::process {

/// The image of an artifact is the file that the command leaves at {out}; empty where the request has no command.
std::unique_ptr<build::Toolchain> make_toolchain();

}  // namespace xtune::process

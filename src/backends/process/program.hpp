// A program and its call, ready to run.
#pragma once

#include <memory>

#include "core/measure/device.hpp"

namespace xtune::process {

/// Each run starts the call once; if there is a check, it follows the first run. device: index of the one device that
/// the program may see, if its call restricts this. Throws Error(io).
std::unique_ptr<measure::Program> load_program(const build::Artifact& artifact, const device::ProgramCall& call,
                                               int device);

}  // namespace xtune::process

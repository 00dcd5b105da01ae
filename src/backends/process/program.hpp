// A program with its call, ready to run.
#pragma once

#include <memory>

#include "core/measure/device.hpp"

namespace xtune::process {

/// Each run starts the call once; where there is a check, the first run is followed by it. device: index of the one
/// that the program is to see, where its call says that it is to see one. Throws Error(io).
std::unique_ptr<measure::Program> load_program(const build::Artifact& artifact, const device::ProgramCall& call,
                                               int device);

}  // namespace xtune::process

// A launch whose workgroups several threads execute.
#pragma once

#include "emulator/program.hpp"

namespace xtune::emulator {

/// As Program::launch. Each thread has an equal part of the workgroups. All parts run at the same time, so that kernels
/// whose workgroups wait for each other end. If some of them fail, the error is the one of the first.
Report launch_in_threads(const Program& program, const Launch& launch, const Memory& memory);

}  // namespace xtune::emulator

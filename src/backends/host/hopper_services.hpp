// The functions that kernels with <xtune/hopper.cuh> call.
#pragma once

#include "backends/host/runtime/xtune_host_abi.h"

namespace xtune::host {

const XtuneHopperServices& hopper_services();

}  // namespace xtune::host

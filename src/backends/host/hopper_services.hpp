// The functions that kernels with <xtune/hopper.cuh> call.
#pragma once

#include "runtime/host/xtune_host_abi.h"

namespace xtune::host {

const XtuneHopperServices& hopper_services();

}  // namespace xtune::host

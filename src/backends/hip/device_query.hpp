// The HIP devices of this process and their facts.
#pragma once

#include "backends/backend.hpp"
#include "backends/hip/hip_calls.hpp"

namespace xtune::hip {

/// Never throws.
backend::DeviceList list_devices();
/// Throws Error(unavailable) when the device does not answer.
device::DeviceInfo query_device(const HipCalls& calls, int index);
/// Makes the driver ready and counts devices. Throws Error(unavailable) with what to do.
int initialise(const HipCalls& calls);

/// "gfx90a" of "gfx90a:sramecc+:xnack-".
std::string strip_target_features(const std::string& arch);

}  // namespace xtune::hip

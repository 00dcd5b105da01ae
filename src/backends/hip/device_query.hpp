// The HIP devices of this process and their facts.
#pragma once

#include "backends/backend.hpp"
#include "backends/hip/hip_calls.hpp"

namespace xtune::hip {

/// Never throws.
backend::DeviceList list_devices();
/// Throws Error(unavailable) if the device does not respond.
device::DeviceInfo query_device(const HipCalls& calls, int index);
/// Initialises the driver and counts devices. Throws Error(unavailable) with advice.
int initialise(const HipCalls& calls);

/// "gfx90a" for "gfx90a:sramecc+:xnack-".
std::string strip_target_features(const std::string& arch);

}  // namespace xtune::hip

// A time for a launch that no GPU executed, from what it did.
#pragma once

#include "core/device/device_info.hpp"
#include "emulator/report.hpp"

namespace xtune::emulator {

/// Milliseconds by a simple model, which is not a prediction: a fixed cost of a launch, and the longest of three: the
/// instructions, shared by the SIMDs that have waves; the bytes of global memory at the memory's bandwidth; the bytes
/// of LDS at the bandwidth of the compute units that have workgroups. An instruction of a wave takes as many cycles of
/// a SIMD as its lanes need; a matrix instruction takes eight times as many. Caches, latencies, occupancy and conflicts
/// of LDS banks do not count.
double simulated_ms(const Report& report, const device::DeviceModel& gpu);

/// Milliseconds for moving this many bytes of global memory.
double simulated_copy_ms(double bytes, const device::DeviceModel& gpu);

}  // namespace xtune::emulator

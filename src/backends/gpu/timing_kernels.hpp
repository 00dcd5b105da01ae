// The small kernels that are needed on the device for timing, in the common subset of CUDA C++ and HIP C++.
#pragma once

#include <string>

#include "core/build/artifact.hpp"

namespace xtune::gpu {

/// The names of these kernels in their module, and their parameters in order.
namespace timing_kernel {
/// (unsigned* flags, unsigned ticket, unsigned long long ticks), one thread: waits until flags[0], which the host
/// writes, has reached the ticket; gives up after that many ticks of the device's timer, and then sets flags[1] to the
/// ticket.
inline constexpr const char* hold = "xtune_hold";
/// (unsigned long long cycles), one thread: takes that many cycles of its compute unit's clock.
inline constexpr const char* spin = "xtune_spin";
/// (unsigned long long* out, unsigned long long ticks), one thread: writes how many cycles passed to out[0], and in how
/// many ticks of the timer, at least the given ones, to out[1].
inline constexpr const char* clock = "xtune_clock";
}  // namespace timing_kernel

/// Compiles all of them at once: the artifact's entry is one of them, and its image contains the others too.
build::CompileRequest timing_request(const std::string& arch);

}  // namespace xtune::gpu

// The hip backend's toolchains: hipRTC and clang on AMD, hipRTC's mapping to NVRTC on NVIDIA.
#pragma once

#include <memory>

#include "core/build/artifact.hpp"

namespace xtune::hip {

/// The architecture to compile for without a device.
inline constexpr const char* default_amd_arch = "gfx90a";

// The kernels' macros besides the request's defines. AMD: XTUNE_HIP=1, and the compiler's own __HIP__; the HIP runtime
// and __half are available without #include. hipRTC (amd_toolchain.cpp): also __HIPCC_RTC__; including HIP's headers
// again is an error. NVIDIA (nvidia_toolchain.cpp): the language is CUDA C++, so XTUNE_CUDA=1 and not XTUNE_HIP, with
// __HIP_PLATFORM_NVIDIA__=1 to distinguish it. Exactly one of XTUNE_CUDA, XTUNE_HIP and XTUNE_HOST is defined in every
// backend.

/// hipRTC. Throws Error(unavailable).
std::unique_ptr<build::Toolchain> make_hiprtc_toolchain();
/// clang 17 or newer, as a process. Throws Error(unavailable).
std::unique_ptr<build::Toolchain> make_clang_toolchain();

}  // namespace xtune::hip

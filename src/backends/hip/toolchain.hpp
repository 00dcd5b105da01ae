// The hip backend's toolchain: hipRTC on AMD, hipRTC's mapping to NVRTC on NVIDIA.
#pragma once

#include <memory>

#include "core/build/artifact.hpp"

namespace xtune::hip {

/// Throws Error(unavailable).
///
/// The kernels' macros besides the request's defines. AMD (amd_toolchain.cpp): XTUNE_HIP=1, and hipRTC's own
/// __HIPCC_RTC__ and __HIP__; the HIP runtime and __half are available without #include, and including HIP's headers
/// again is an error. NVIDIA (nvidia_toolchain.cpp): the language is CUDA C++, so XTUNE_CUDA=1 and not
/// XTUNE_HIP, with __HIP_PLATFORM_NVIDIA__=1 to distinguish it. Exactly one of XTUNE_CUDA, XTUNE_HIP and XTUNE_HOST is
/// defined in every backend.
std::unique_ptr<build::Toolchain> make_toolchain();

}  // namespace xtune::hip

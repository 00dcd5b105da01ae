// Compiling CUDA C++ to cubin with NVRTC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/nvrtc.hpp"
#include "core/build/artifact.hpp"

namespace xtune::cuda {

/// The differences between the two users of NVRTC: the cuda backend, and HIP's NVIDIA side.
struct Dialect {
  gpu::CompilerApi api;
  std::string name;                       ///< start of the fingerprint: "nvrtc"
  std::vector<std::string> defines;       ///< added to every compile: "XTUNE_CUDA=1"
  std::vector<std::string> include_dirs;  ///< searched last
  std::vector<std::string> (*map_options)(const std::vector<std::string>& options) = nullptr;  ///< nullptr: unchanged
};

/// The toolchain that uses NVRTC. Besides the request's defines, kernels see XTUNE_CUDA=1, since the language is CUDA
/// C++, and NVRTC's own __CUDACC_RTC__ and __CUDA_ARCH__. Half precision needs #include <cuda_fp16.h>; its directory is
/// in the include path.
std::unique_ptr<build::Toolchain> make_toolchain(const Nvrtc& nvrtc, Dialect dialect);

/// "sm_90", "sm_90a", "sm_100f".
bool is_nvidia_arch(const std::string& arch) noexcept;

}  // namespace xtune::cuda

// Compiling CUDA C++ to cubin with NVRTC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/nvrtc.hpp"
#include "core/build/artifact.hpp"

namespace xtune::cuda {

/// What sets apart the two ways to NVRTC: the cuda backend's own, and HIP's NVIDIA side.
struct Dialect {
  gpu::CompilerApi api;
  std::string name;                       ///< opens the fingerprint: "nvrtc"
  std::vector<std::string> defines;       ///< added to every compile: "XTUNE_CUDA=1"
  std::vector<std::string> include_dirs;  ///< searched last
  std::vector<std::string> (*map_options)(const std::vector<std::string>& options) = nullptr;  ///< nullptr: as they are
};

/// The toolchain over NVRTC. Kernels see, besides the request's defines: XTUNE_CUDA=1, since the language is CUDA C++;
/// __CUDACC_RTC__ and __CUDA_ARCH__ from NVRTC itself. Half precision needs #include <cuda_fp16.h>; its folder is on
/// the include path.
std::unique_ptr<build::Toolchain> make_toolchain(const Nvrtc& nvrtc, Dialect dialect);

/// "sm_90", "sm_90a", "sm_100f".
bool is_nvidia_arch(const std::string& arch) noexcept;

}  // namespace xtune::cuda

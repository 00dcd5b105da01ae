// Compiling CUDA C++ to cubin with NVRTC, which is opened at run time, or with nvcc or clang, which are started.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/abi.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "core/build/artifact.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::cuda {

/// NVRTC's entry points; one table for the process, never unloaded.
struct Nvrtc {
  system::DynamicLibrary library;
#define XTUNE_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  XTUNE_NVRTC_CALLS(XTUNE_DECLARE)
#undef XTUNE_DECLARE
};

/// Thread-safe. Searches build::cuda_library_folders. Throws Error(unavailable) with the places it searched.
const Nvrtc& nvrtc();

/// Directories with CUDA's own headers (cuda_fp16.h, and CCCL's), those of the NVRTC in use first; empty if there are
/// none.
std::vector<std::string> toolkit_include_dirs(const Nvrtc& nvrtc);

/// NVRTC's implementation of the run-time compiler's calls; the code is cubin.
gpu::CompilerApi compiler_api(const Nvrtc& nvrtc);

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

/// The first nvcc of build::nvcc_compilers() that runs. Kernels see XTUNE_CUDA=1. Throws Error(unavailable).
std::unique_ptr<build::Toolchain> make_nvcc_toolchain();
/// The first clang of build::clang_compilers() that can use the CUDA toolkit here. Throws Error(unavailable) with the
/// reason for each.
std::unique_ptr<build::Toolchain> make_clang_toolchain();

/// "compute_90a": no hardware, and what is made is PTX.
bool is_virtual(const std::string& arch) noexcept;
/// "sm_90a" for it; others as they are.
std::string real_arch(const std::string& arch);
/// Throws Error(unsupported). known: the compiler's, as 90; empty: unknown.
void require_arch(const std::string& arch, const std::vector<int>& known, const std::string& compiler);
/// Sets format, entries and usage, from the artifact's architecture and log.
void set_kernels(build::Artifact& artifact, const std::vector<std::string>& symbols);

}  // namespace xtune::cuda

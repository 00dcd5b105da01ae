// NVRTC, opened at run time.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/abi.hpp"
#include "backends/gpu/runtime_compiler.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::cuda {

/// NVRTC's entry points; one table for the process, never unloaded.
struct Nvrtc {
  system::DynamicLibrary library;
#define XTUNE_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  XTUNE_NVRTC_CALLS(XTUNE_DECLARE)
#undef XTUNE_DECLARE
};

/// Thread-safe. Searches CUDA_HOME, CUDA_PATH, the loader's path, /usr/local/cuda and the packages of an active Python
/// environment. Throws Error(unavailable) with the places it searched.
const Nvrtc& nvrtc();

/// Directories with CUDA's own headers (cuda_fp16.h, and CCCL's), those of the NVRTC in use first; empty if there are
/// none.
std::vector<std::string> toolkit_include_dirs(const Nvrtc& nvrtc);

/// NVRTC's implementation of the run-time compiler's calls; the code is cubin.
gpu::CompilerApi compiler_api(const Nvrtc& nvrtc);

}  // namespace xtune::cuda

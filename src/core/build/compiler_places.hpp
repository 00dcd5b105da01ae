// Where nvcc, clang, HIP's headers and AMD's device libraries are searched.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::build {

// Programs are absolute paths of those that exist, each once, the preferred one first.

/// In PATH: clang++-N from the newest N on, and clang++.
std::vector<std::string> clang_compilers();
/// The toolkits that CUDA_HOME and CUDA_PATH name.
std::vector<std::filesystem::path> cuda_roots();
/// In bin of those, in /usr/local/cuda/bin, and in PATH.
std::vector<std::string> nvcc_compilers();

/// The program that XTUNE_HIP_CXX names, or else: amdclang++ of ROCm, then in PATH amdclang++ and
/// clang_compilers(), then clang++ of ROCm.
std::vector<std::string> hip_compilers();
/// Directories that may have include/hip/hip_runtime.h, the preferred one first: HIP_PATH, ROCM_PATH, the ROCm to which
/// the compiler belongs, /usr, /opt/rocm. compiler: its path, or empty. system: the directory to which the last two
/// belong.
std::vector<std::filesystem::path> hip_roots(const std::string& compiler, const std::filesystem::path& system = "/");
/// Directories that may have ocml.bc, in the layouts of ROCm and of distributions, the preferred one first.
/// resources: the directory of the compiler's own files (clang -print-resource-dir), or empty.
std::vector<std::filesystem::path> device_library_folders(const std::string& compiler,
                                                          const std::filesystem::path& resources,
                                                          const std::filesystem::path& system = "/");

}  // namespace xtune::build

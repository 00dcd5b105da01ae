// Where clang, HIP's headers and AMD's device libraries are searched.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::build {

/// The program that XTUNE_HIP_CXX names, or else: amdclang++ of ROCm, then in PATH amdclang++, clang++-N from the
/// newest N on, and clang++, then clang++ of ROCm. Absolute paths of programs that exist; each once.
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

// Where the parts of CUDA and ROCm are searched: libraries, compilers, headers and device libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::build {

// Everything is in the order in which it is preferred, each once. system: the directory in the place of the root, below
// which tests have the layouts of releases.

/// Installations of CUDA: those that CUDA_HOME and CUDA_PATH name, /usr/local/cuda, NVIDIA's wheels in Python's
/// packages, an active conda environment, and further releases in /usr/local, the newest first.
std::vector<std::filesystem::path> cuda_roots(const std::filesystem::path& system = "/");
/// Those that CUDA_HOME and CUDA_PATH name.
std::vector<std::filesystem::path> named_cuda_roots();
/// Installations of ROCm: those that ROCM_PATH, HIP_PATH and LD_LIBRARY_PATH name, AMD's wheels in Python's packages,
/// an active conda environment, /opt/rocm, and further releases in it and beside it, the newest first.
std::vector<std::filesystem::path> rocm_roots(const std::filesystem::path& system = "/");
/// The directories of their libraries; an empty one is what the loader searches. It comes after the named
/// installations, and for ROCm after those of environments.
std::vector<std::filesystem::path> cuda_library_folders(const std::filesystem::path& system = "/");
std::vector<std::filesystem::path> rocm_library_folders(const std::filesystem::path& system = "/");
/// The file names of a library of ROCm 5 and newer: without a version, then the newest.
std::vector<std::string> rocm_library_names(const std::string& stem);
std::vector<std::string> nvrtc_names();

/// The first directory that has all these files; empty: none. what: for `xtune devices -v`.
std::filesystem::path folder_with(const std::string& what, const std::vector<std::filesystem::path>& folders,
                                  const std::vector<std::string>& files);

// Programs are absolute paths of those that exist.

/// In PATH: clang++-N from the newest N on, and clang++.
std::vector<std::string> clang_compilers();
/// zig-c++ of the Python package xtune, if the package ziglang is beside it; else empty.
std::string zig_compiler();
/// In bin of the named toolkits, in /usr/local/cuda/bin, in PATH, and in bin of the other toolkits.
std::vector<std::string> nvcc_compilers();
/// The program that XTUNE_HIP_CXX names, or else: amdclang++ of each ROCm, then in PATH amdclang++ and
/// clang_compilers(), then clang++ of each ROCm.
std::vector<std::string> hip_compilers(const std::filesystem::path& system = "/");

/// Directories that may have include/hip/hip_runtime.h: HIP_PATH, the named ROCm, that of the compiler, /usr, and the
/// others. compiler: its path, or empty.
std::vector<std::filesystem::path> hip_roots(const std::string& compiler, const std::filesystem::path& system = "/");
/// Directories that may have ocml.bc, in the layouts of ROCm and of distributions.
/// resources: the directory of the compiler's own files (clang -print-resource-dir), or empty.
std::vector<std::filesystem::path> device_library_folders(const std::string& compiler,
                                                          const std::filesystem::path& resources,
                                                          const std::filesystem::path& system = "/");

}  // namespace xtune::build

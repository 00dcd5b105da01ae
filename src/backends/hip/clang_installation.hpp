// A clang that compiles for AMD GPUs, with HIP's headers and AMD's device libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/build/tool_files.hpp"

namespace xtune::hip {

struct ClangInstallation {
  std::string path;                        ///< of the compiler
  std::string version;                     ///< "19.1.7"
  std::string description;                 ///< first line of --version
  std::vector<std::string> archs;          ///< "gfx90a", ... : what it compiles for
  std::filesystem::path hip_root;          ///< has include/hip/hip_runtime.h
  std::string hip_version;                 ///< of the headers, "5.2.21153"; "unknown"
  std::filesystem::path device_libraries;  ///< the directory with ocml.bc and ockl.bc
  bool needs_wrapping_atomics = false;     ///< the headers' atomicInc and atomicDec call intrinsics that LLVM removed

  /// The directory of HIP's headers.
  std::filesystem::path headers() const { return hip_root / "include" / "hip"; }
};

/// The first suitable compiler of build::hip_compilers(): clang 17 or newer with the AMDGPU target and lld. Throws
/// NotInstalled with the reason for each that is not suitable, and with what is missing besides it: HIP's headers,
/// AMD's device libraries. system: the directory below which the system's own are searched.
ClangInstallation find_clang(const std::filesystem::path& system = "/");

/// HIP's headers and the device libraries. Throws Error(io).
build::ToolFiles files_of(const ClangInstallation& clang);

/// The architectures of a clang, as it lists them; empty: it was built without the AMDGPU target.
std::vector<std::string> amd_archs_of(const std::string& compiler);
/// {19, "19.1.7"} of "Debian clang version 19.1.7 (3~deb12u1)"; {0, ""} for another text.
std::pair<int, std::string> clang_version(const std::string& first_line);

}  // namespace xtune::hip

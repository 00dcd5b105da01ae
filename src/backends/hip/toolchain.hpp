// The hip backend's toolchains: hipRTC and clang on AMD, hipRTC's mapping to NVRTC on NVIDIA; and what the compilers
// for AMD have in common, and where clang finds what it needs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"

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

/// The request with XTUNE_HIP=1 before its own definitions, as source text.
std::string source_text(const build::CompileRequest& request);

/// Throws Error(unsupported) for an architecture that is not AMD's or that the compiler does not know. known: empty if
/// its list is unknown. why_no_other: why another compiler, which may know it, cannot be used; empty if it can.
void require_arch(const std::string& arch, const std::vector<std::string>& known, const std::string& compiler,
                  const std::function<std::string()>& why_no_other = {});

/// Sets format, entries, variables and usage of an artifact with its image, whose source had the request's names
/// (compiler::pointers_text), from the metadata in it. Throws CandidateFailure(compile_failed) for an entry that is not
/// a kernel, and for a name that no exported symbol has.
void set_names(build::Artifact& artifact, const build::CompileRequest& request);

/// Directories whose headers belong to ROCm or Clang, and count by name: /usr/lib, and those above `place` whose names
/// begin with "rocm" or, as of AMD's wheels, "_rocm".
std::vector<std::string> rocm_folders(const std::filesystem::path& place);

/// Whether assembly in the source reads files, which the compiler does not list.
bool assembly_reads_files(const build::CompileRequest& request);

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

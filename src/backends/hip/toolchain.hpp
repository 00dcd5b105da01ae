// The hip backend's toolchains: hipRTC and clang on AMD, hipRTC's mapping to NVRTC on NVIDIA; and what the compilers
// for AMD have in common.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"

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

/// Sets format, entries and usage of an artifact with its image, from the metadata in it. Throws
/// CandidateFailure(compile_failed) for an entry that is not a kernel.
void set_kernels(build::Artifact& artifact, const build::CompileRequest& request,
                 const std::vector<std::string>& symbols);

/// Directories whose headers belong to ROCm or Clang, and count by name: /usr/lib, and those above `place` whose names
/// begin with "rocm".
std::vector<std::string> rocm_folders(const std::filesystem::path& place);

/// Whether assembly in the source reads files, which the compiler does not list.
bool assembly_reads_files(const build::CompileRequest& request);

/// Source text with a pointer to each name: one on the device, whose relocation shows the lowered name, and one on the
/// host, which exports a static variable. Line-marked, so that a message about one has its number.
std::string pointers_text(const std::vector<std::string>& names);

/// What is wrong with a name, where the compiler's first error is in the text above; empty: it is elsewhere. names: as
/// above; the request's variables are the last.
std::string wrong_name(const std::vector<std::string>& names, const build::CompileRequest& request,
                       std::string_view error);

/// The lowered names, from an artifact with its image. Throws CandidateFailure(compile_failed) for a name that no
/// exported symbol has.
std::vector<std::string> lowered_names(const std::vector<std::string>& names, const build::Artifact& artifact,
                                       const build::CompileRequest& request);

}  // namespace xtune::hip

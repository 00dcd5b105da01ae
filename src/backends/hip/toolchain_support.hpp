// What the HIP backend's compilers have in common.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"

namespace xtune::hip {

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

}  // namespace xtune::hip

// The headers for compiling a kernel on the host, stored inside the program.
#pragma once

#include <filesystem>
#include <string>

#include "backends/runtime_files.hpp"

namespace xtune::host {

/// Generated at configure time from runtime/*.h.
extern const backend::RuntimeFile runtime_files[];
extern const int runtime_file_count;

/// Writes them, and an empty cuda_fp16.h, hip/hip_runtime.h and similar, so that a kernel may include those. Throws
/// Error(io).
void write_runtime_files(const std::filesystem::path& folder);
/// 12 hex digits that change with the contents of a file, or of a portable header.
std::string runtime_digest();

}  // namespace xtune::host

// Writes the kernel-side headers to the paths where the compiler finds them.
#include "backends/host/runtime_files.hpp"

namespace xtune::host {
namespace {

// Vendor headers whose contents every host kernel has anyway.
constexpr const char* provided[] = {
    "cuda_runtime.h",     "cuda_runtime_api.h",         "cuda_fp16.h",       "cuda_bf16.h",    "vector_types.h",
    "vector_functions.h", "device_launch_parameters.h", "hip/hip_runtime.h", "hip/hip_fp16.h", "hip/hip_bfloat16.h",
    "hip/hip_bf16.h",     "hip/hip_vector_types.h"};

}  // namespace

void write_runtime_files(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directory(folder / "hip", failed);
  for (int i = 0; i < runtime_file_count; ++i)
    backend::write_scratch_file(folder / runtime_files[i].name, runtime_files[i].text);
  for (const char* name : provided) backend::write_scratch_file(folder / name, "#pragma once\n");
}

std::string runtime_digest() {
  return backend::digest_of({runtime_files, static_cast<std::size_t>(runtime_file_count)});
}

}  // namespace xtune::host

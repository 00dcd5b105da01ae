// Writes the kernel-side headers to the paths where the compiler finds them.
#include <vector>

#include "backends/host/runtime_files.hpp"
#include "core/build/portable_headers.hpp"

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
  backend::write_scratch_file(folder / "hip/hip_fp8.h", "#pragma once\n#include \"../hip_fp8.h\"\n");
}

std::string runtime_digest() {
  // Some of them include portable headers.
  std::vector<backend::RuntimeFile> files(runtime_files, runtime_files + runtime_file_count);
  for (const build::PortableHeader& header : build::portable_headers()) files.push_back({header.name, header.text});
  return backend::digest_of(files);
}

}  // namespace xtune::host

// Lays out the kernel-side headers as the compiler finds them.
#include <fstream>

#include "backends/host/runtime_files.hpp"
#include "base/hash.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

// The vendors' headers whose contents every host kernel has anyway.
constexpr const char* provided[] = {
    "cuda_runtime.h",     "cuda_runtime_api.h",         "cuda_fp16.h",       "cuda_bf16.h",    "vector_types.h",
    "vector_functions.h", "device_launch_parameters.h", "hip/hip_runtime.h", "hip/hip_fp16.h", "hip/hip_bfloat16.h",
    "hip/hip_bf16.h",     "hip/hip_vector_types.h"};

// No fsync: the folder lives as long as one compile.
void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file)
    throw Error(ErrorKind::io,
                "cannot write " + path.string() + ": is the disk full? XTUNE_TMP_DIR names another folder");
}

}  // namespace

void write_runtime_files(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directory(folder / "hip", failed);
  for (int i = 0; i < runtime_file_count; ++i) write(folder / runtime_files[i].name, runtime_files[i].text);
  for (const char* name : provided) write(folder / name, "#pragma once\n");
}

std::string runtime_digest() {
  std::string all;
  for (int i = 0; i < runtime_file_count; ++i)
    all += std::string(runtime_files[i].name) + '\0' + runtime_files[i].text + '\0';
  return sha256(all).substr(0, 12);
}

}  // namespace xtune::host

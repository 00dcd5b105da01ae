// Finding and loading NVRTC.
#include <fmt/core.h>

#include <filesystem>

#include "backends/cuda/toolchain.hpp"
#include "backends/gpu/code_object.hpp"
#include "backends/gpu/driver_api.hpp"
#include "core/build/compiler_places.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::cuda {
namespace {

namespace fs = std::filesystem;

Nvrtc load_nvrtc() {
  Nvrtc table;
  std::vector<std::string> candidates;
  for (const fs::path& folder : build::cuda_library_folders())
    for (const std::string& name : build::nvrtc_names()) candidates.push_back((folder / name).string());
  try {
    table.library = system::DynamicLibrary::open(candidates);
  } catch (const Error& error) {
    system::throw_with_message(error, fmt::format("libnvrtc.so not found in CUDA_HOME, CUDA_PATH, the loader's path, "
                                                  "/usr/local or Python's packages: install "
                                                  "the CUDA toolkit's NVRTC (Debian: nvidia-cuda-dev; or pip install "
                                                  "nvidia-cuda-nvrtc) and set CUDA_HOME ({})",
                                                  error.what()));
  }
  table.library.keep_resident();
#define XTUNE_LOAD(name, result, parameters) table.library.get(#name, table.name);
  XTUNE_NVRTC_CALLS(XTUNE_LOAD)
#undef XTUNE_LOAD
  return table;
}

}  // namespace

const Nvrtc& nvrtc() {
  static const Nvrtc table = load_nvrtc();
  return table;
}

std::vector<std::string> toolkit_include_dirs(const Nvrtc& nvrtc) {
  const fs::path library_folder = gpu::library_folder(reinterpret_cast<const void*>(nvrtc.nvrtcVersion));
  std::vector<fs::path> folders;
  if (!library_folder.empty()) {
    folders.push_back(library_folder.parent_path() / "include");
    folders.push_back(library_folder.parent_path().parent_path() / "include");  // <toolkit>/targets/<arch>/lib
    folders.push_back(library_folder.parent_path().parent_path() / "cuda_runtime" / "include");  // pip's packages
  }
  for (const fs::path& root : build::cuda_roots()) folders.push_back(root / "include");
  folders.emplace_back("/usr/include");
  const fs::path folder = build::folder_with("CUDA's headers", folders, {"cuda_fp16.h"});
  if (folder.empty()) return {};
  std::vector<std::string> found{folder.lexically_normal().string()};
  std::error_code error;
  if (fs::is_directory(folder / "cccl", error)) found.push_back((folder / "cccl").lexically_normal().string());
  return found;
}

gpu::CompilerApi compiler_api(const Nvrtc& nvrtc) {
  const Nvrtc* n = &nvrtc;
  gpu::CompilerApi api;
  api.name = "nvrtc";
  api.out_of_memory = NVRTC_ERROR_OUT_OF_MEMORY;
  api.create = [n](gpu::CompilerApi::Program* handle, const char* source, const char* name) -> int {
    return n->nvrtcCreateProgram(handle, source, name, 0, nullptr, nullptr);
  };
  api.destroy = gpu::table_call(n->nvrtcDestroyProgram);
  api.add_name_expression = gpu::table_call(n->nvrtcAddNameExpression);
  api.compile = gpu::table_call(n->nvrtcCompileProgram);
  api.log_size = gpu::table_call(n->nvrtcGetProgramLogSize);
  api.log = gpu::table_call(n->nvrtcGetProgramLog);
  api.lowered_name = gpu::table_call(n->nvrtcGetLoweredName);
  api.code_size = gpu::table_call(n->nvrtcGetCUBINSize);
  api.code = gpu::table_call(n->nvrtcGetCUBIN);
  api.assembly_size = gpu::table_call(n->nvrtcGetPTXSize);
  api.assembly = gpu::table_call(n->nvrtcGetPTX);
  api.describe = [n](int status) { return std::string(n->nvrtcGetErrorString(static_cast<nvrtcResult>(status))); };
  return api;
}

}  // namespace xtune::cuda

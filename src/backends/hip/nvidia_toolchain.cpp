// Compiling for HIP's NVIDIA side: the interface of hipRTC, implemented by NVRTC.
#include <hip/hiprtc.h>

#include "backends/cuda/toolchain.hpp"
#include "backends/gpu/vendor_library.hpp"
#include "backends/hip/toolchain.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::hip {
namespace {

gpu::CompilerApi compiler_api() {
  gpu::CompilerApi api;
  api.name = "hiprtc (nvrtc)";
  api.out_of_memory = HIPRTC_ERROR_OUT_OF_MEMORY;
  api.create = [](gpu::CompilerApi::Program* handle, const char* source, const char* name) -> int {
    return hiprtcCreateProgram(reinterpret_cast<hiprtcProgram*>(handle), source, name, 0, nullptr, nullptr);
  };
  api.destroy = gpu::table_call(&hiprtcDestroyProgram);
  api.add_name_expression = gpu::table_call(&hiprtcAddNameExpression);
  api.compile = gpu::table_call(&hiprtcCompileProgram);
  api.log_size = gpu::table_call(&hiprtcGetProgramLogSize);
  api.log = gpu::table_call(&hiprtcGetProgramLog);
  api.lowered_name = gpu::table_call(&hiprtcGetLoweredName);
  // hiprtcGetCode returns PTX here, which the driver would compile again at load time, without the options.
  api.code_size = gpu::table_call(&nvrtcGetCUBINSize);
  api.code = gpu::table_call(&nvrtcGetCUBIN);
  api.describe = [](int status) { return std::string(hiprtcGetErrorString(static_cast<hiprtcResult>(status))); };
  return api;
}

/// Options of hipRTC's clang that have a counterpart, or only tune clang; NVRTC refuses unknown options.
std::vector<std::string> map_options(const std::vector<std::string>& options) {
  std::vector<std::string> mapped;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    if (option == "-ffast-math") {
      mapped.emplace_back("--use_fast_math");
    } else if (option == "-mllvm" || option == "-Xclang") {
      ++i;  // with its argument
    } else if (option.starts_with("-O") || option.starts_with("-W") || option.starts_with("-f") ||
               option.starts_with("-munsafe-fp-atomics") || option.starts_with("-mcumode") ||
               option.starts_with("-mno-cumode") || option.starts_with("-mwavefrontsize64") ||
               option.starts_with("-mno-wavefrontsize64") || option.starts_with("--offload-arch=")) {
      continue;
    } else {
      mapped.push_back(option);
    }
  }
  return mapped;
}

}  // namespace

std::unique_ptr<build::Toolchain> make_hiprtc_toolchain() {
  const cuda::Nvrtc& nvrtc = cuda::nvrtc();  // throws with the reason if NVRTC is missing
  cuda::Dialect dialect;
  dialect.api = compiler_api();
  dialect.name = "hiprtc on nvrtc";
  dialect.defines = {"XTUNE_CUDA=1", "__HIP_PLATFORM_NVIDIA__=1"};
  dialect.include_dirs = cuda::toolkit_include_dirs(nvrtc);
  dialect.map_options = map_options;
  return cuda::make_toolchain(nvrtc, std::move(dialect));
}

std::unique_ptr<build::Toolchain> make_clang_toolchain() {
  throw system::NotInstalled("this xtune is built for HIP on NVIDIA GPUs, for which it does not use clang");
}

}  // namespace xtune::hip

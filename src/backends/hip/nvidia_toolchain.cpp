// Compiling for HIP's NVIDIA side, where hipRTC's calls are other names of NVRTC's.
#include "backends/cuda/toolchain.hpp"
#include "backends/hip/toolchain.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::hip {
namespace {

gpu::CompilerApi hiprtc_api(const cuda::Nvrtc& nvrtc) {
  gpu::CompilerApi api = cuda::compiler_api(nvrtc);
  api.name = "hiprtc (nvrtc)";
  api.assembly_size = nullptr;
  api.assembly = nullptr;
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
  dialect.api = hiprtc_api(nvrtc);
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

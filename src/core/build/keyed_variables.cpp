// Names and prefixes from the tools' manuals: GCC, "Environment Variables"; Clang, "Command Line"; GNU make, "Implicit
// Variables" and "Communicating Options"; cmake-env-variables(7); nvcc and hipcc, "Environment Variables"; the OpenMP
// specification; libgomp, MKL, OpenBLAS, BLIS; ld.so(8), mallopt(3); the CUDA and HIP programming guides.
#include "core/build/keyed_variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace xtune {
namespace {

// A name that ends in "_" stands for all that begin so.
constexpr std::array<std::string_view, 50> of_builds{"AR",
                                                     "ARFLAGS",
                                                     "AS",
                                                     "ASFLAGS",
                                                     "CC",
                                                     "CCC_",
                                                     "CFLAGS",
                                                     "CMAKE_",
                                                     "COMPILER_PATH",
                                                     "CPATH",
                                                     "CPLUS_",
                                                     "CPP",
                                                     "CPPFLAGS",
                                                     "CUDAARCHS",
                                                     "CUDACXX",
                                                     "CUDAFLAGS",
                                                     "CUDAHOSTCXX",
                                                     "CUDA_HOME",
                                                     "CUDA_PATH",
                                                     "CXX",
                                                     "CXXFLAGS",
                                                     "C_INCLUDE_PATH",
                                                     "DEVICE_LIB_",
                                                     "FC",
                                                     "FFLAGS",
                                                     "GCC_",
                                                     "GNUMAKEFLAGS",
                                                     "HIPCC_",
                                                     "HIPCXX",
                                                     "HIPFLAGS",
                                                     "HIP_CLANG_",
                                                     "HIP_COMPILER",
                                                     "HIP_PATH",
                                                     "HIP_PLATFORM",
                                                     "HIP_RUNTIME",
                                                     "LD",
                                                     "LDFLAGS",
                                                     "LDLIBS",
                                                     "LD_RUN_PATH",
                                                     "LIBRARY_PATH",
                                                     "MAKEFILES",
                                                     "MAKEFLAGS",
                                                     "MODULAR_HOME",
                                                     "NVCC_",
                                                     "OBJC_INCLUDE_PATH",
                                                     "GOFLAGS",
                                                     "RUSTC",
                                                     "ROCM_PATH",
                                                     "RUSTFLAGS",
                                                     "SOURCE_DATE_EPOCH"};
constexpr std::array<std::string_view, 33> of_runs{"ACC_",
                                                   "AMD_LOG_LEVEL",
                                                   "AMD_SERIALIZE_",
                                                   "BLIS_",
                                                   "CUDA_AUTO_BOOST",
                                                   "CUDA_CACHE_DISABLE",
                                                   "CUDA_DEVICE_MAX_",
                                                   "CUDA_FORCE_PTX_JIT",
                                                   "CUDA_LAUNCH_BLOCKING",
                                                   "CUDA_MODULE_LOADING",
                                                   "CUDA_SCALE_LAUNCH_QUEUES",
                                                   "GLIBC_TUNABLES",
                                                   "GOMP_",
                                                   "GOTO_",
                                                   "GPU_MAX_HW_QUEUES",
                                                   "HIP_FORCE_",
                                                   "HIP_LAUNCH_BLOCKING",
                                                   "HSA_",
                                                   "KMP_",
                                                   "KOKKOS_",
                                                   "LD_AUDIT",
                                                   "LD_BIND_NOW",
                                                   "LD_LIBRARY_PATH",
                                                   "LD_PRELOAD",
                                                   "LIBOMP_",
                                                   "LIBOMPTARGET_",
                                                   "MALLOC_",
                                                   "MKL_",
                                                   "NVIDIA_TF32_OVERRIDE",
                                                   "OMP_",
                                                   "OPENBLAS_",
                                                   "TBB_",
                                                   "VECLIB_"};

// It says how many jobs run, and nothing else.
constexpr const char* parallel_level = "CMAKE_BUILD_PARALLEL_LEVEL";

bool is_listed(std::string_view name, std::span<const std::string_view> list) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view item) {
    return item.ends_with('_') ? name.starts_with(item) : name == item;
  });
}

Variables set_of(std::span<const std::string_view> list, const std::vector<std::string>& named) {
  Variables found;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (equals == text.npos || (!is_listed(name, list) && std::find(named.begin(), named.end(), name) == named.end()))
      continue;
    found.emplace(name, text.substr(equals + 1));
  }
  return found;
}

/// What a make above this run says of itself.
std::string without_jobs(std::string_view flags) {
  std::string kept;
  while (!flags.empty()) {
    const std::string_view word = flags.substr(0, flags.find(' '));
    flags.remove_prefix(std::min(word.size() + 1, flags.size()));
    if (word.empty() || word == "w" || word.starts_with("-j") || word.starts_with("--jobserver")) continue;
    kept += (kept.empty() ? "" : " ") + std::string(word);
  }
  return kept;
}

}  // namespace

Variables build_variables(const std::vector<std::string>& named) {
  Variables found = set_of(of_builds, named);
  if (std::find(named.begin(), named.end(), parallel_level) == named.end()) found.erase(parallel_level);
  if (const auto flags = found.find("MAKEFLAGS"); flags != found.end()) {
    flags->second = without_jobs(flags->second);
    if (flags->second.empty()) found.erase(flags);
  }
  return found;
}

Variables run_variables(const std::vector<std::string>& named) { return set_of(of_runs, named); }

}  // namespace xtune

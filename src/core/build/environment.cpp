// Sources: the manuals of nvcc, hipcc, libgomp, MKL, OpenBLAS and BLIS; the programming guides of CUDA and HIP;
// mallopt(3); GCC, "Environment Variables"; GNU make, "Implicit Variables"; CMake, cmake-env-variables(7); ld(1);
// ld.so(8); Clang's ApplyQAOverride; OpenMP's specification and the vendors' guides.
#include "core/build/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace xtune::build {
namespace {

struct Variable {
  const char* name;
  VariableReader reader;
};

// A name that ends in "_" is a prefix.
constexpr Variable variables[] = {{"ACC_", VariableReader::threads},
                                  {"AMD_SERIALIZE_", VariableReader::threads},
                                  {"AR", VariableReader::make},
                                  {"ARFLAGS", VariableReader::make},
                                  {"AS", VariableReader::make},
                                  {"ASFLAGS", VariableReader::make},
                                  {"BLIS_", VariableReader::threads},
                                  {"CC", VariableReader::make},
                                  {"CCC_", VariableReader::make},
                                  {"CCC_OVERRIDE_OPTIONS", VariableReader::compiler},
                                  {"CFLAGS", VariableReader::make},
                                  {"CMAKE_", VariableReader::make},
                                  {"COMPILER_PATH", VariableReader::compiler},
                                  {"CPATH", VariableReader::folders},
                                  {"CPLUS_INCLUDE_PATH", VariableReader::folders},
                                  {"CPP", VariableReader::make},
                                  {"CPPFLAGS", VariableReader::make},
                                  {"CUDAARCHS", VariableReader::make},
                                  {"CUDACXX", VariableReader::make},
                                  {"CUDAFLAGS", VariableReader::make},
                                  {"CUDAHOSTCXX", VariableReader::make},
                                  {"CUDA_AUTO_BOOST", VariableReader::threads},
                                  {"CUDA_CACHE_DISABLE", VariableReader::threads},
                                  {"CUDA_DEVICE_MAX_", VariableReader::threads},
                                  {"CUDA_FORCE_PTX_JIT", VariableReader::threads},
                                  {"CUDA_HOME", VariableReader::make},
                                  {"CUDA_LAUNCH_BLOCKING", VariableReader::threads},
                                  {"CUDA_MODULE_LOADING", VariableReader::threads},
                                  {"CUDA_PATH", VariableReader::make},
                                  {"CUDA_SCALE_LAUNCH_QUEUES", VariableReader::threads},
                                  {"CXX", VariableReader::make},
                                  {"CXXFLAGS", VariableReader::make},
                                  {"C_INCLUDE_PATH", VariableReader::folders},
                                  {"DEVICE_LIB_", VariableReader::make},
                                  {"FC", VariableReader::make},
                                  {"FFLAGS", VariableReader::make},
                                  {"GCC_EXEC_PREFIX", VariableReader::compiler},
                                  {"GLIBC_TUNABLES", VariableReader::loader},
                                  {"GNUMAKEFLAGS", VariableReader::make},
                                  {"GOFLAGS", VariableReader::make},
                                  {"GOMAXPROCS", VariableReader::threads},
                                  {"GOMP_", VariableReader::threads},
                                  {"GOTO_", VariableReader::threads},
                                  {"GPU_MAX_HW_QUEUES", VariableReader::threads},
                                  {"HIPCC_", VariableReader::make},
                                  {"HIPCXX", VariableReader::make},
                                  {"HIPFLAGS", VariableReader::make},
                                  {"HIP_CLANG_", VariableReader::make},
                                  {"HIP_COMPILER", VariableReader::make},
                                  {"HIP_FORCE_", VariableReader::threads},
                                  {"HIP_LAUNCH_BLOCKING", VariableReader::threads},
                                  {"HIP_PATH", VariableReader::make},
                                  {"HIP_PLATFORM", VariableReader::make},
                                  {"HIP_RUNTIME", VariableReader::make},
                                  {"HSA_", VariableReader::threads},
                                  {"JULIA_NUM_THREADS", VariableReader::threads},
                                  {"KMP_", VariableReader::threads},
                                  {"KOKKOS_", VariableReader::threads},
                                  {"LD", VariableReader::make},
                                  {"LDFLAGS", VariableReader::make},
                                  {"LDLIBS", VariableReader::make},
                                  {"LD_AUDIT", VariableReader::threads},
                                  {"LD_BIND_NOW", VariableReader::threads},
                                  {"LD_LIBRARY_PATH", VariableReader::loader},
                                  {"LD_PRELOAD", VariableReader::loader},
                                  {"LD_RUN_PATH", VariableReader::compiler},
                                  {"LIBOMPTARGET_", VariableReader::threads},
                                  {"LIBOMP_", VariableReader::threads},
                                  {"LIBRARY_PATH", VariableReader::folders},
                                  {"MAKEFILES", VariableReader::make},
                                  {"MAKEFLAGS", VariableReader::make},
                                  {"MALLOC_", VariableReader::threads},
                                  {"MKL_", VariableReader::threads},
                                  {"MODULAR_HOME", VariableReader::make},
                                  {"NUMBA_", VariableReader::threads},
                                  {"NUMEXPR_", VariableReader::threads},
                                  {"NVCC_", VariableReader::make},
                                  {"NVCC_APPEND_FLAGS", VariableReader::compiler},
                                  {"NVCC_CCBIN", VariableReader::compiler},
                                  {"NVCC_PREPEND_FLAGS", VariableReader::compiler},
                                  {"NVCC_WRAPPER_DEFAULT_COMPILER", VariableReader::compiler},
                                  {"NVIDIA_TF32_OVERRIDE", VariableReader::threads},
                                  {"OBJC_INCLUDE_PATH", VariableReader::make},
                                  {"OMP_", VariableReader::threads},
                                  {"OPENBLAS_", VariableReader::threads},
                                  {"PYTHONPATH", VariableReader::threads},
                                  {"RAYON_NUM_THREADS", VariableReader::threads},
                                  {"ROCM_PATH", VariableReader::make},
                                  {"RUSTC", VariableReader::make},
                                  {"RUSTFLAGS", VariableReader::make},
                                  {"SOURCE_DATE_EPOCH", VariableReader::make},
                                  {"TBB_", VariableReader::threads},
                                  {"UCX_", VariableReader::threads},
                                  {"VECLIB_", VariableReader::threads},
                                  {"XLA_FLAGS", VariableReader::threads}};

// It contains only the number of jobs.
constexpr std::string_view parallel_level = "CMAKE_BUILD_PARALLEL_LEVEL";

bool is_read(std::string_view name, const std::vector<std::string>& read) {
  return std::any_of(read.begin(), read.end(), [&](const std::string& item) {
    return item.ends_with('_') ? name.starts_with(item) : name == item;
  });
}

/// Removes the settings of a make that runs xtune.
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

std::vector<std::string> variables_read_by(const std::vector<VariableReader>& readers) {
  std::vector<std::string> names;
  for (const Variable& variable : variables)
    if (std::find(readers.begin(), readers.end(), variable.reader) != readers.end()) names.emplace_back(variable.name);
  return names;
}

std::map<std::string, std::string> set_variables(const std::vector<VariableReader>& readers,
                                                 const std::vector<std::string>& named) {
  const std::vector<std::string> read = variables_read_by(readers);
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.size() == text.size()) continue;
    const bool is_named = std::find(named.begin(), named.end(), name) != named.end();
    if (!is_named && (name == parallel_level || !is_read(name, read))) continue;
    std::string value(text.substr(name.size() + 1));
    if (name == "MAKEFLAGS" && (value = without_jobs(value)).empty()) continue;
    found.emplace(name, std::move(value));
  }
  return found;
}

}  // namespace xtune::build

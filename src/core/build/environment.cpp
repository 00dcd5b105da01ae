// Sources: the manuals of nvcc, hipcc, libgomp, MKL, OpenBLAS and BLIS; the programming guides of CUDA and HIP;
// mallopt(3); GCC, "Environment Variables"; GNU make, "Implicit Variables"; CMake, cmake-env-variables(7); ld(1);
// ld.so(8); Clang's ApplyQAOverride; OpenMP's specification and the vendors' guides.
#include "core/build/environment.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace xtune::build {
namespace {

/// Names by reader, separated by blanks. A name that ends in "_" is a prefix.
constexpr std::pair<VariableReader, std::string_view> variables[] = {
    {VariableReader::threads,
     "ACC_ AMD_SERIALIZE_ BLIS_ CUDA_AUTO_BOOST CUDA_CACHE_DISABLE CUDA_DEVICE_MAX_ CUDA_FORCE_PTX_JIT "
     "CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_SCALE_LAUNCH_QUEUES GOMAXPROCS GOMP_ GOTO_ "
     "GPU_MAX_HW_QUEUES HIP_FORCE_ HIP_LAUNCH_BLOCKING HSA_ JULIA_NUM_THREADS KMP_ KOKKOS_ LD_AUDIT "
     "LD_BIND_NOW LIBOMPTARGET_ LIBOMP_ MALLOC_ MKL_ NUMBA_ NUMEXPR_ NVIDIA_TF32_OVERRIDE OMP_ OPENBLAS_ "
     "PYTHONPATH RAYON_NUM_THREADS TBB_ UCX_ VECLIB_ XLA_FLAGS"},
    {VariableReader::make,
     "AR ARFLAGS AS ASFLAGS CC CCC_ CFLAGS CMAKE_ CPP CPPFLAGS CUDAARCHS CUDACXX CUDAFLAGS CUDAHOSTCXX "
     "CUDA_HOME CUDA_PATH CXX CXXFLAGS DEVICE_LIB_ FC FFLAGS GNUMAKEFLAGS GOFLAGS HIPCC_ HIPCXX HIPFLAGS "
     "HIP_CLANG_ HIP_COMPILER HIP_PATH HIP_PLATFORM HIP_RUNTIME LD LDFLAGS LDLIBS MAKEFILES MAKEFLAGS "
     "MODULAR_HOME NVCC_ OBJC_INCLUDE_PATH ROCM_PATH RUSTC RUSTFLAGS SOURCE_DATE_EPOCH"},
    {VariableReader::compiler,
     "CCC_OVERRIDE_OPTIONS COMPILER_PATH GCC_EXEC_PREFIX LD_RUN_PATH NVCC_APPEND_FLAGS NVCC_CCBIN "
     "NVCC_PREPEND_FLAGS NVCC_WRAPPER_DEFAULT_COMPILER"},
    {VariableReader::folders, "CPATH CPLUS_INCLUDE_PATH C_INCLUDE_PATH LIBRARY_PATH"},
    {VariableReader::loader, "GLIBC_TUNABLES LD_LIBRARY_PATH LD_PRELOAD"},
};

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

/// A directory of a search path counts where it is first. Jobs of Flux that start jobs put the same one before it, each
/// time.
std::string without_repeats(std::string_view path) {
  std::vector<std::string> kept;
  for (const std::string& folder : base::split(path, ':')) base::add_once(kept, folder);
  return fmt::format("{}", fmt::join(kept, ":"));
}

}  // namespace

std::vector<std::string> variables_read_by(const std::vector<VariableReader>& readers) {
  std::vector<std::string> names;
  for (const auto& [reader, list] : variables)
    if (std::find(readers.begin(), readers.end(), reader) != readers.end())
      for (std::string& name : base::split(list, ' ')) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
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
    if (name == "LD_LIBRARY_PATH") value = without_repeats(value);
    found.emplace(name, std::move(value));
  }
  return found;
}

}  // namespace xtune::build

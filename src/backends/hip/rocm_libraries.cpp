// Where ROCm's libraries are searched.
#include "backends/hip/rocm_libraries.hpp"

#include <fmt/core.h>

#include <cstdlib>

#include "backends/gpu/library_file.hpp"

namespace xtune::hip {
namespace {

constexpr int majors[] = {7, 6, 5};

/// The files of the release whose runtime this process has loaded already, such as the application's. One release's
/// handles mean nothing to another's runtime.
std::vector<std::string> beside_loaded_runtime(const std::vector<std::string>& stems) {
  std::vector<std::string> candidates;
  for (const int major : majors) {
    const auto runtime = base::DynamicLibrary::loaded({fmt::format("libamdhip64.so.{}", major)});
    if (!runtime) continue;
    const std::string folder = gpu::library_folder(runtime.find("hipInit"));
    for (const std::string& stem : stems)
      for (const std::string& place : {folder + "/", std::string()})
        candidates.push_back(fmt::format("{}lib{}.so.{}", place, stem, major));
    break;
  }
  return candidates;
}

}  // namespace

base::DynamicLibrary open_rocm_library(const std::vector<std::string>& stems) {
  std::vector<std::string> candidates = beside_loaded_runtime(stems);
  std::vector<std::string> folders;
  for (const char* variable : {"ROCM_PATH", "HIP_PATH"})
    if (const char* root = std::getenv(variable); root && *root) folders.push_back(fmt::format("{}/lib/", root));
  folders.insert(folders.end(), {"", "/opt/rocm/lib/"});
  for (const std::string& stem : stems)
    for (const std::string& folder : folders) {
      candidates.push_back(fmt::format("{}lib{}.so", folder, stem));
      for (const int major : majors) candidates.push_back(fmt::format("{}lib{}.so.{}", folder, stem, major));
    }
  return base::DynamicLibrary::open(candidates);
}

}  // namespace xtune::hip

// Opening ROCm's libraries. ROCm 6 and 7 have the properties in two layouts, under two names. The plain name
// is the older layout in ROCm 5 and 6, and the newer one in headers since ROCm 6, so it is called last.
#include "backends/hip/rocm_libraries.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "backends/gpu/code_object.hpp"
#include "backends/gpu/hip_headers.hpp"
#include "core/build/compiler_places.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::hip {
namespace {

/// The files of the release whose runtime this process has loaded already, such as the application's or PyTorch's. One
/// release's handles mean nothing to another's runtime.
std::vector<std::string> beside_loaded_runtime(const std::string& stem) {
  constexpr std::string_view runtime = "libamdhip64";
  std::vector<std::string> candidates;
  std::error_code failed;
  const std::string file = system::loaded_file("libamdhip64.so");
  if (file.empty()) return candidates;  // whose canonical form is the working directory in libc++
  const auto loaded = std::filesystem::weakly_canonical(file, failed);
  // ".so.7.2.70200", ".so.7"; only ".so" in PyTorch's wheels that contain ROCm.
  std::string ending = loaded.filename().string().substr(runtime.size());
  for (; ending.size() > 3; ending.resize(ending.rfind('.')))
    for (const std::string& folder : {loaded.parent_path().string() + "/", std::string()})
      candidates.push_back(fmt::format("{}lib{}{}", folder, stem, ending));
  candidates.push_back(fmt::format("{}/lib{}.so", loaded.parent_path().string(), stem));
  return candidates;
}

/// The names that hipRTC has for it; with the loader of ROCm 7.13 and newer between them, it has none.
system::DynamicLibrary open_for(const std::string& hiprtc) {
  std::vector<std::string> names;
  if (!hiprtc.empty()) names = code_object_manager_names(system::read_if_there(hiprtc, std::uint64_t{1} << 30));
  if (system::DynamicLibrary library = system::DynamicLibrary::loaded(names)) return library;
  if (names.empty()) names = {"libamd_comgr.so.3", "libamd_comgr.so.2"};
  names.emplace_back("libamd_comgr.so");
  // ROCm's libraries find each other by their own directory, which the loader's path need not contain.
  std::vector<std::string> candidates;
  for (const std::string& name : names)
    candidates.push_back((std::filesystem::path(hiprtc).parent_path() / name).string());
  candidates.insert(candidates.end(), names.begin(), names.end());
  return system::DynamicLibrary::open(candidates);
}

/// hipDeviceProp_t: the offset of its member gcnArchName (HIP 5.2, 5.7 and 6.4 headers).
struct Layout {
  const char* symbol;
  std::size_t arch_at;
};
constexpr Layout layouts[] = {
    {"hipGetDevicePropertiesR0600", 1160}, {"hipGetDevicePropertiesR0000", 396}, {"hipGetDeviceProperties", 396}};
constexpr std::size_t arch_bytes = 256;
constexpr std::size_t room_bytes = 16384;  // the structures have 792 and 1472 bytes; a newer one may have more

static_assert(sizeof(hipDeviceProp_t::gcnArchName) == arch_bytes && sizeof(hipDeviceProp_t) < room_bytes);
#if HIP_VERSION_MAJOR >= 6
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == layouts[0].arch_at);
#else
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == layouts[1].arch_at);
#endif

}  // namespace

system::DynamicLibrary open_rocm_library(const std::vector<std::string>& stems, const std::filesystem::path& system) {
  std::vector<std::string> candidates;
  for (const std::string& stem : stems)
    for (const std::string& file : beside_loaded_runtime(stem)) candidates.push_back(file);
  for (const std::string& stem : stems)
    for (const std::filesystem::path& folder : build::rocm_library_folders(system))
      for (const std::string& name : build::rocm_library_names(stem)) candidates.push_back((folder / name).string());
  return system::DynamicLibrary::open(candidates);
}

CodeObjectManager::CodeObjectManager(const std::string& hiprtc) {
  try {
    library = open_for(hiprtc);
    library.keep_resident();
    int (*count_of)(std::size_t*) = nullptr;
    int (*name_of)(std::size_t, const char**) = nullptr;
    library.get("amd_comgr_get_isa_count", count_of);
    library.get("amd_comgr_get_isa_name", name_of);
    build = gpu::library_build_id(reinterpret_cast<const void*>(count_of));
    path = gpu::library_path(reinterpret_cast<const void*>(count_of));
    std::size_t count = 0;
    if (count_of(&count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      const char* isa = nullptr;  // "amdgcn-amd-amdhsa--gfx90a"
      if (name_of(i, &isa) != 0 || !isa) continue;
      const std::string text = isa;
      archs.push_back(text.substr(text.rfind('-') + 1));
    }
  } catch (const Error&) {  // part of the runtime in some packages: hipRTC's own answer must be enough
  }
}

std::vector<std::string> code_object_manager_names(std::string_view library) {
  constexpr std::string_view stem = "libamd_comgr.so.";
  std::vector<std::string> names;
  for (std::size_t at = library.find(stem); at != library.npos; at = library.find(stem, at + 1)) {
    const std::size_t digits = at + stem.size();
    std::size_t end = digits;
    while (end < library.size() && library[end] >= '0' && library[end] <= '9') ++end;
    std::string name(library.substr(at, end - at));
    if (end > digits && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string device_arch(const std::function<void*(const char* symbol)>& find, int index, int* status) {
  for (const Layout& layout : layouts) {
    const auto properties = reinterpret_cast<int (*)(void*, int)>(find(layout.symbol));
    if (!properties) continue;
    const auto room = std::make_unique<char[]>(room_bytes);
    *status = properties(room.get(), index);
    if (*status != 0) return {};
    const char* name = room.get() + layout.arch_at;
    return std::string(name, strnlen(name, arch_bytes));
  }
  return {};
}

}  // namespace xtune::hip

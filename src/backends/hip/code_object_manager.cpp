// Finding libamd_comgr, of which a system may have several releases.
#include "backends/hip/code_object_manager.hpp"

#include <algorithm>
#include <filesystem>

#include "backends/gpu/library_file.hpp"
#include "base/files.hpp"
#include "xtune/error.hpp"

namespace xtune::hip {
namespace {

base::DynamicLibrary open_for(const std::string& hiprtc) {
  std::vector<std::string> names;
  if (!hiprtc.empty()) names = code_object_manager_names(base::read_if_there(hiprtc, std::uint64_t{1} << 30));
  if (base::DynamicLibrary library = base::DynamicLibrary::loaded(names)) return library;
  // ROCm's libraries find each other by their own directory, which the loader's path need not contain.
  const std::filesystem::path folder = std::filesystem::path(hiprtc).parent_path();
  std::vector<std::string> candidates;
  for (const std::string& name : names) candidates.insert(candidates.end(), {(folder / name).string(), name});
  if (candidates.empty()) candidates = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"};
  return base::DynamicLibrary::open(candidates);
}

}  // namespace

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

}  // namespace xtune::hip

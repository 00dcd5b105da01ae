// ROCm's releases, of which a system may have several: their libraries, the one that compiles for hipRTC, and the
// architecture of a device from its properties, whose structure changed in ROCm 6.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "system/dynamic_library.hpp"

namespace xtune::hip {

/// Opens ROCm's shared library with one of these stems ("hiprtc", "amdhip64"), of any release since 5. Prefers the
/// release whose runtime the process has loaded already, in its directory; else the first stem, and for it the
/// directories and names of build::rocm_library_folders. Throws as system::DynamicLibrary::open.
system::DynamicLibrary open_rocm_library(const std::vector<std::string>& stems,
                                         const std::filesystem::path& system = "/");

/// The library libamd_comgr that hipRTC uses. Its list of architectures is needed, because hipRTC (at least up to 5.2)
/// corrupts its heap for an architecture that is not in it.
struct CodeObjectManager {
  std::vector<std::string> archs;  ///< empty: unknown
  std::string build, path;

  /// hiprtc: the path of the library that contains hipRTC.
  explicit CodeObjectManager(const std::string& hiprtc);
  system::DynamicLibrary library;
};

/// The file names of the code object manager in the bytes of the library that contains hipRTC, which links it (until
/// ROCm 5) or opens it by name: "libamd_comgr.so.2".
std::vector<std::string> code_object_manager_names(std::string_view library);

/// "gfx90a:sramecc+:xnack-", as reported by the library; empty if it is not. `find`: returns a symbol's address in
/// HIP's library, or nullptr. status: of the call, 0 for success.
std::string device_arch(const std::function<void*(const char* symbol)>& find, int index, int* status);

}  // namespace xtune::hip

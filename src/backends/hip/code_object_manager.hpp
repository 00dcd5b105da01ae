// The library that compiles for hipRTC.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dynamic_library.hpp"

namespace xtune::hip {

/// The library libamd_comgr that hipRTC uses. Its list of architectures is needed, because hipRTC (at least up to 5.2)
/// corrupts its heap for an architecture that is not in it.
struct CodeObjectManager {
  std::vector<std::string> archs;  ///< empty: unknown
  std::string build, path;

  /// hiprtc: the path of the library that contains hipRTC.
  explicit CodeObjectManager(const std::string& hiprtc);
  base::DynamicLibrary library;
};

/// The file names of the code object manager in the bytes of the library that contains hipRTC, which links it (until
/// ROCm 5) or opens it by name: "libamd_comgr.so.2".
std::vector<std::string> code_object_manager_names(std::string_view library);

}  // namespace xtune::hip

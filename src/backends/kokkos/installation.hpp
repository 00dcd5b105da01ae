// The Kokkos on this machine that CMake finds, and how its users are compiled.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/keyed_files.hpp"

namespace xtune::kokkos {

/// Of a target, from CMake's file API.
struct BuildFlags {
  std::vector<std::string> compile;  ///< options, definitions and include directories
  std::vector<std::string> link;     ///< options and libraries, in their order
};

/// The words of a command-line fragment as a POSIX shell splits it, without expansions.
std::vector<std::string> split_words(std::string_view fragment);
/// From a target object (cmake-file-api(7), "codemodel" version 2). Throws Error(unavailable) for another text.
BuildFlags flags_of_target(const std::string& json_text);
/// The flags of one target, after CMake has run with a query for the codemodel. Throws Error(unavailable).
BuildFlags read_reply(const std::filesystem::path& build_folder, const std::string& target);

struct Installation {
  std::string version;               ///< "3.4.1"
  int version_number = 0;            ///< KOKKOS_VERSION: 30401
  std::vector<std::string> devices;  ///< with the names of its CMake package: "OPENMP", "SERIAL"
  std::string config;                ///< the path of KokkosConfig.cmake
  std::string compiler;              ///< absolute
  std::string compiler_version;      ///< first line of --version
  bool compiler_is_clang = false;
  std::string headers_digest;  ///< of Kokkos' headers: 12 hex digits
  BuildFlags flags;
  build::KeyedFiles
      files{};  ///< states, without digests, of the package's files and headers, their directories, and the compiler
};

/// Lets CMake configure a project that uses Kokkos, and caches the result in the store's kokkos directory as long as
/// the files of Kokkos' CMake package, its headers and its compiler stay the same. Uses the variables of find_package
/// (Kokkos_ROOT, CMAKE_PREFIX_PATH), XTUNE_KOKKOS_CXX and XTUNE_HOST_CXX. Throws Error(unavailable) with CMake's
/// message and advice: no CMake, no Kokkos, none below Kokkos_ROOT, older than 3.4, or no compiler.
Installation find_installation();

}  // namespace xtune::kokkos

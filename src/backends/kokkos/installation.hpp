// A Kokkos on this machine: which one CMake finds, and how its users are compiled.
#pragma once

#include <string>
#include <vector>

#include "backends/kokkos/cmake_reply.hpp"
#include "core/build/keyed_files.hpp"

namespace xtune::kokkos {

struct Installation {
  std::string version;               ///< "3.4.1"
  int version_number = 0;            ///< KOKKOS_VERSION: 30401
  std::vector<std::string> devices;  ///< as its CMake package calls them: "OPENMP", "SERIAL"
  std::string config;                ///< the path of KokkosConfig.cmake
  std::string compiler;              ///< absolute
  std::string compiler_version;      ///< first line of --version
  bool compiler_is_clang = false;
  std::string headers_digest;  ///< of Kokkos' headers: 12 hex digits
  BuildFlags flags;
  build::KeyedFiles
      files{};  ///< states, without digests, of the package's files and headers, their folders, and the compiler
};

/// Has CMake configure a project that uses Kokkos, and keeps the answer in the store's kokkos folder as long as the
/// files of Kokkos' CMake package, its headers and its compiler stay as they are. Heeds what find_package heeds
/// (Kokkos_ROOT, CMAKE_PREFIX_PATH), XTUNE_KOKKOS_CXX and XTUNE_HOST_CXX. Throws Error(unavailable): no CMake, no
/// Kokkos, none below Kokkos_ROOT, older than 3.4, or no compiler; it says what CMake said and what to do.
Installation find_installation();

}  // namespace xtune::kokkos

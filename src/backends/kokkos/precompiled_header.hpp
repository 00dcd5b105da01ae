// Kokkos' headers, parsed once for all units that are compiled with the same flags.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backends/compiler/precompiled_header.hpp"

namespace xtune::kokkos {

/// Thread-safe.
class PrecompiledHeader {
 public:
  /// The file to include first, and the directory of xtune's headers that belongs to it.
  struct Header {
    std::filesystem::path file, folder;
  };
  /// nullopt: compile without it (backends/compiler/precompiled_header.hpp). identity: distinguishes one Kokkos and
  /// compiler from another.
  std::optional<Header> find(const std::string& compiler, bool is_clang, const std::vector<std::string>& flags,
                             const std::string& identity);

 private:
  compiler::PrecompiledHeader files_;
};

}  // namespace xtune::kokkos

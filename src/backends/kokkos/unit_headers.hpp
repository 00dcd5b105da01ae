// The headers that units are compiled with: stored inside the program, and parsed once for the same flags.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backends/compiler/precompiled_header.hpp"
#include "backends/runtime_files.hpp"

namespace xtune::kokkos {

/// Generated at configure time from runtime/.
extern const backend::RuntimeFile runtime_files[];
extern const int runtime_file_count;

/// Writes one of them. Throws Error(io).
void write_runtime_file(const std::string& name, const std::filesystem::path& to);
/// Writes xtune/kokkos.hpp and the files that make a table of an entry, below the directory. Throws Error(io).
void write_headers(const std::filesystem::path& folder);
/// 12 hex digits that change with the contents of a file.
std::string runtime_digest();

/// Kokkos' headers. Thread-safe.
class PrecompiledHeader {
 public:
  /// The file to include first, in the directory of xtune's headers that belong to it. nullopt: compile without it
  /// (backends/compiler/precompiled_header.hpp). identity: distinguishes one Kokkos and compiler from another.
  std::optional<std::filesystem::path> find(const std::string& compiler, bool is_clang,
                                            const std::vector<std::string>& flags, const std::string& identity);

 private:
  compiler::PrecompiledHeader files_;
};

}  // namespace xtune::kokkos

// The files for compiling units, stored inside the program.
#pragma once

#include <filesystem>
#include <string>

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

}  // namespace xtune::kokkos

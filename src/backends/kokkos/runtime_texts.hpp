// The files that units are compiled with, kept inside the program.
#pragma once

#include <filesystem>
#include <string>

#include "backends/runtime_files.hpp"

namespace xtune::kokkos {

/// Generated at configure time from runtime/.
extern const backend::RuntimeFile runtime_files[];
extern const int runtime_file_count;

/// One of them. Throws Error(io).
void write_runtime_file(const std::string& name, const std::filesystem::path& to);
/// xtune/kokkos.hpp and what it takes to make a table of an entry, below the folder. Throws Error(io).
void write_headers(const std::filesystem::path& folder);
/// Changes whenever a file does: 12 hex digits.
std::string runtime_digest();

}  // namespace xtune::kokkos

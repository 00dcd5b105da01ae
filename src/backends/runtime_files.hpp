// Files that kernels are compiled with, kept as text inside the program.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace xtune::backend {

struct RuntimeFile {
  const char* name;
  const char* text;
};

/// Without making sure that it is on the disk: the folder lives as long as one compile. Throws Error(io).
void write_scratch_file(const std::filesystem::path& path, std::string_view text);
/// Writes <xtune/portable.cuh> below the directory, which a compiler is to search after all others. Throws Error(io).
void write_portable_header(const std::filesystem::path& directory);
/// Changes whenever a file does: 12 hex digits.
std::string digest_of(std::span<const RuntimeFile> files);

}  // namespace xtune::backend

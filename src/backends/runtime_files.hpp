// Files that kernels are compiled with, kept as text inside the program.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/compile_hint.hpp"
#include "core/build/portable_headers.hpp"

namespace xtune::backend {

struct RuntimeFile {
  const char* name;
  const char* text;
};

/// Does not sync the file to disk: the directory exists only for one compile. Throws Error(io).
void write_scratch_file(const std::filesystem::path& path, std::string_view text);
/// Writes <xtune/portable.cuh> and its siblings below the directory, which a compiler is to search after all others,
/// and the stand-ins of these sets. Throws Error(io).
void write_portable_headers(const std::filesystem::path& directory,
                            std::initializer_list<build::HeaderSet> standins = {});
/// Writes the headers that a compiler cannot read to directory/missing and directory/unusable: empty, or as stand-ins.
void write_unread_headers(const std::filesystem::path& directory, const build::UnreadHeaders::Names& headers);
/// Both, in directories below this one. Returns the options by which a compiler searches them; missing_option: for the
/// headers that are read as empty, which come after all others.
std::vector<std::string> write_headers(const std::filesystem::path& directory,
                                       std::initializer_list<build::HeaderSet> standins,
                                       const build::UnreadHeaders::Names& unread,
                                       const std::string& missing_option = "-idirafter");
/// 12 hex digits that change with the stand-ins of these sets.
std::string digest_of(std::initializer_list<build::HeaderSet> standins);
/// 12 hex digits that change with the contents of a file.
std::string digest_of(std::span<const RuntimeFile> files);

}  // namespace xtune::backend

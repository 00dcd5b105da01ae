// Reading gzip files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace xtune::base {

/// The bytes of a file, decompressed if it is gzip. gzip is detected by the first two bytes, not by the name; several
/// members are concatenated. Throws Error(io) with the path and the reason: those of read_file, a truncated or damaged
/// archive, or more than limit_bytes after decompression.
std::string read_file_gunzipped(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 30);

}  // namespace xtune::base

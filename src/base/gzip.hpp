// Reading gzip files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace xtune::base {

/// The bytes of a file, decompressed when it is gzip (by its first two bytes, whatever its name; several members are
/// one after another). Throws Error(io) naming the path and the reason: as read_file, a truncated or damaged archive,
/// or more than limit_bytes once decompressed.
std::string read_file_gunzipped(const std::filesystem::path& path, std::uint64_t limit_bytes = std::uint64_t{1} << 30);

}  // namespace xtune::base

// Hashes and checksums, through Crypto++.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace xtune::base {

/// Lower-case hex, 64 characters, as sha256sum prints it.
std::string sha256(std::string_view bytes);

using Sha256 = std::array<unsigned char, 32>;
/// As bytes.
Sha256 sha256_bytes(std::string_view bytes);
/// Of a file's contents, which are read in pieces. Throws Error(io) that names the file.
std::string sha256_of_file(const std::filesystem::path& path);

/// CRC-32C (Castagnoli), which finds every error of up to 32 neighbouring bits.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace xtune::base

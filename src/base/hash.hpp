// Hashes and checksums, through Crypto++.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace xtune::base {

/// SHA-256 as lower-case hex, 64 characters, as sha256sum prints it.
std::string sha256(std::string_view bytes);

using Sha256 = std::array<unsigned char, 32>;
/// SHA-256 as bytes.
Sha256 sha256_bytes(std::string_view bytes);
/// SHA-256 of a file's contents, which are read in pieces. Throws Error(io) with the file's name.
std::string sha256_of_file(const std::filesystem::path& path);
/// The same; after each MiB it calls `between`, which may throw.
std::string sha256_of_file(const std::filesystem::path& path, const std::function<void()>& between);

/// CRC-32C (Castagnoli), which finds every error of up to 32 neighbouring bits.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace xtune::base

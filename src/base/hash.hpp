// Hashes and checksums, through Crypto++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace xtune {

/// Lower-case hex, 64 characters, as sha256sum prints it.
std::string sha256(std::string_view bytes);

/// CRC-32C (Castagnoli), which finds every error of up to 32 neighbouring bits.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace xtune

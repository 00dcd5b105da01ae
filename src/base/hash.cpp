// Both through Crypto++, which uses the processor's own instructions where it has them.
#include "base/hash.hpp"

#include <cryptopp/crc.h>
#include <cryptopp/sha.h>

#include <array>

namespace xtune {

std::string sha256(std::string_view bytes) {
  std::array<CryptoPP::byte, CryptoPP::SHA256::DIGESTSIZE> digest{};
  CryptoPP::SHA256().CalculateDigest(digest.data(), reinterpret_cast<const CryptoPP::byte*>(bytes.data()),
                                     bytes.size());
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(digest.size() * 2);
  for (const CryptoPP::byte byte : digest) {
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  return hex;
}

std::uint32_t crc32c(std::string_view bytes) {
  CryptoPP::CRC32C sum;
  sum.Update(reinterpret_cast<const CryptoPP::byte*>(bytes.data()), bytes.size());
  std::array<CryptoPP::byte, CryptoPP::CRC32C::DIGESTSIZE> digest{};
  sum.Final(digest.data());
  std::uint32_t number = 0;  // the digest has its least byte first
  for (std::size_t i = digest.size(); i-- > 0;) number = number << 8 | digest[i];
  return number;
}

}  // namespace xtune

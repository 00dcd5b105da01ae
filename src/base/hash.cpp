// SHA-256, through Crypto++, which uses the processor's own instructions where it has them.
#include "base/hash.hpp"

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

}  // namespace xtune

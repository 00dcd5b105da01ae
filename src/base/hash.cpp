// Uses Crypto++, which uses the processor's special instructions if it has them.
#include "base/hash.hpp"

#include <cryptopp/crc.h>
#include <cryptopp/sha.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::base {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

using Digest = Sha256;

std::string hex_of(const Digest& digest) {
  std::string text;  // millions of keys are hashed
  for (const unsigned char byte : digest) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return text;
}

const CryptoPP::byte* as_bytes(const char* text) { return reinterpret_cast<const CryptoPP::byte*>(text); }

}  // namespace

Sha256 sha256_bytes(std::string_view bytes) {
  Sha256 digest{};
  CryptoPP::SHA256().CalculateDigest(digest.data(), as_bytes(bytes.data()), bytes.size());
  return digest;
}

std::string sha256(std::string_view bytes) { return hex_of(sha256_bytes(bytes)); }

std::string sha256_of_file(const std::filesystem::path& path, const std::function<void()>& between) {
  const auto fail = [&](const char* why) { throw Error(ErrorKind::io, printable(path.string()) + ": " + why); };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) fail("is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::strerror(errno));
  CryptoPP::SHA256 hash;
  // Not cleared: most files are headers, and clearing would take longer than reading them.
  const auto piece = std::make_unique_for_overwrite<char[]>(piece_bytes);
  while (file.read(piece.get(), static_cast<std::streamsize>(piece_bytes)) || file.gcount() > 0) {
    hash.Update(as_bytes(piece.get()), static_cast<std::size_t>(file.gcount()));
    between();
  }
  if (file.bad()) fail("cannot be read");
  Digest digest{};
  hash.Final(digest.data());
  return hex_of(digest);
}

std::string sha256_of_file(const std::filesystem::path& path) {
  return sha256_of_file(path, [] {});
}

std::uint32_t crc32c(std::string_view bytes) {
  CryptoPP::CRC32C sum;
  sum.Update(as_bytes(bytes.data()), bytes.size());
  std::array<CryptoPP::byte, CryptoPP::CRC32C::DIGESTSIZE> digest{};
  sum.Final(digest.data());
  std::uint32_t number = 0;  // the digest is little endian
  for (std::size_t i = digest.size(); i-- > 0;) number = number << 8 | digest[i];
  return number;
}

}  // namespace xtune::base

// CRC-32C. Uses three parallel streams if the processor has an instruction for it, which takes three cycles and can
// start in each; else Crypto++.
#include <cryptopp/crc.h>

#include <array>
#include <cstring>

#include "base/hash.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace xtune::base {
namespace {

std::uint32_t plain_crc32c(std::string_view bytes) {
  CryptoPP::CRC32C sum;
  sum.Update(reinterpret_cast<const CryptoPP::byte*>(bytes.data()), bytes.size());
  std::array<CryptoPP::byte, CryptoPP::CRC32C::DIGESTSIZE> digest{};
  sum.Final(digest.data());
  std::uint32_t number = 0;  // the digest is little endian
  for (std::size_t i = digest.size(); i-- > 0;) number = number << 8 | digest[i];
  return number;
}

#if defined(__x86_64__)

constexpr std::size_t stream_bytes = 168, words = stream_bytes / 8;
using Shift = std::array<std::array<std::uint32_t, 256>, 4>;

/// How a number of zero bytes changes a CRC, for each value of each of its bytes.
constexpr Shift shift_by(std::size_t zeros) {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected
  std::array<std::uint32_t, 32> bits{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t sum = 1u << bit;
    for (std::size_t i = 0; i < zeros * 8; ++i) sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
    bits[bit] = sum;
  }
  Shift shift{};
  for (std::size_t byte = 0; byte < 4; ++byte)
    for (std::size_t value = 0; value < 256; ++value)
      for (std::size_t bit = 0; bit < 8; ++bit)
        if (value >> bit & 1) shift[byte][value] ^= bits[byte * 8 + bit];
  return shift;
}

std::uint32_t shifted(const Shift& shift, std::uint64_t sum) {
  return shift[0][sum & 255] ^ shift[1][sum >> 8 & 255] ^ shift[2][sum >> 16 & 255] ^ shift[3][sum >> 24 & 255];
}

std::uint64_t word_at(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t fast_crc32c(std::string_view bytes) {
  static const Shift one = shift_by(stream_bytes), two = shift_by(2 * stream_bytes);
  std::uint64_t sum = 0xffffffff;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * stream_bytes; at += 3 * stream_bytes, left -= 3 * stream_bytes) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < words; ++i) {
      sum = _mm_crc32_u64(sum, word_at(at + 8 * i));
      second = _mm_crc32_u64(second, word_at(at + stream_bytes + 8 * i));
      third = _mm_crc32_u64(third, word_at(at + 2 * stream_bytes + 8 * i));
    }
    sum = shifted(two, sum) ^ shifted(one, second) ^ static_cast<std::uint32_t>(third);
  }
  for (; left >= 8; at += 8, left -= 8) sum = _mm_crc32_u64(sum, word_at(at));
  auto short_sum = static_cast<std::uint32_t>(sum);
  for (; left > 0; ++at, --left) short_sum = _mm_crc32_u8(short_sum, static_cast<unsigned char>(*at));
  return ~short_sum;
}

#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("sse4.2");
  if (fast) return fast_crc32c(bytes);
#endif
  return plain_crc32c(bytes);
}

}  // namespace xtune::base

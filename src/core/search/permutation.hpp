// A random order of 0 .. size-1 in constant memory.
#pragma once

#include <array>
#include <cstdint>

namespace xtune::search {

/// A bijection of 0 .. size-1 onto itself, determined by the seed: a Feistel network over the smallest even number of
/// bits that can hold size, iterated until the result is in range (Black and Rogaway, "Ciphers with Arbitrary Finite
/// Domains", 2002). size < 2^63.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed) noexcept;
  /// position < size.
  std::uint64_t operator()(std::uint64_t position) const noexcept;
  /// The inverse: the position of an index. index < size.
  std::uint64_t position_of(std::uint64_t index) const noexcept;
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::uint64_t size_;
  std::uint32_t half_bits_;
  std::array<std::uint64_t, 6> keys_;
};

}  // namespace xtune::search

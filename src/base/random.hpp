// Random numbers that are the same on every platform.
#pragma once

#include <cstdint>

namespace xtune::base {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a hash of a counter; the base of reproducible parallel fills.
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A sequence of mix64 values from a seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(mix64(seed)) {}
  std::uint64_t next() noexcept { return mix64(state_++); }
  /// Uniform in [0, bound), without modulo bias (Lemire 2019). bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept;
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  ///< [0, 1)

 private:
  std::uint64_t state_;
};

inline std::uint64_t Random::below(std::uint64_t bound) noexcept {
  // Lemire (2019), "Fast random integer generation in an interval": the high half of a 128-bit product is the value;
  // the low half identifies the few draws that would make some values more likely.
  __extension__ using Wide = unsigned __int128;
  if (bound == 0) return 0;
  Wide product = static_cast<Wide>(next()) * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Wide>(next()) * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace xtune::base

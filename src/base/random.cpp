// Bounded random numbers without bias.
#include "base/random.hpp"

namespace xtune::base {

std::uint64_t Random::below(std::uint64_t bound) noexcept {
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

// A Feistel network with mix64 as its round function.
#include "core/search/permutation.hpp"

#include <algorithm>
#include <bit>

#include "base/random.hpp"

namespace xtune::search {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) noexcept
    : size_(size),
      half_bits_(
          std::max<std::uint32_t>(1, (static_cast<std::uint32_t>(std::bit_width(size > 0 ? size - 1 : 0)) + 1) / 2)) {
  base::Random random(seed);
  for (std::uint64_t& key : keys_) key = random.next();
}

std::uint64_t Permutation::operator()(std::uint64_t position) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {  // the domain is less than four times the size, so this takes a few rounds on average
    std::uint64_t left = position >> half_bits_;
    std::uint64_t right = position & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (base::mix64(right ^ key) & mask);
      left = right;
      right = next;
    }
    position = left << half_bits_ | right;
  } while (position >= size_);
  return position;
}

std::uint64_t Permutation::position_of(std::uint64_t index) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) {
      const std::uint64_t before = right ^ (base::mix64(left ^ *key) & mask);
      right = left;
      left = before;
    }
    index = left << half_bits_ | right;
  } while (index >= size_);
  return index;
}

}  // namespace xtune::search

// Orders and samples of a space that need no results.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/space/space.hpp"

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

/// Identifies the work of a configuration, for example by the key of its artifact: two with equal work are the same.
using WorkOf = std::function<std::string(std::uint64_t index)>;

/// Configurations with up to `limit` (>= 1) different pieces of work; the whole space, in order, if it has at most
/// `limit` configurations. The first ones contain every value of every parameter, as far as `limit` allows and random
/// draws find a valid one; a configuration that has a new value but known work is listed too, and does not count. The
/// others are uniform draws without replacement. Always the same sample; the sample of a smaller limit is its
/// beginning.
std::vector<std::uint64_t> spread_sample(const space::Space& space, std::uint64_t limit, const WorkOf& work_of);

}  // namespace xtune::search

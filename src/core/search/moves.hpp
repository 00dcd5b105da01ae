// Steps through a space, from one valid configuration to another, and what is known about failures nearby.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "core/space/space.hpp"

namespace xtune::search {

using Digits = std::vector<std::uint32_t>;  ///< value indices, one for each parameter

/// A valid configuration that differs from `from` in one parameter, chosen at random; half of the steps of an ordered
/// parameter go to an adjacent value. nullopt: a few dozen draws found none.
std::optional<std::uint64_t> random_step(const space::Space& space, std::uint64_t from, base::Random& random);

/// Moves from a valid configuration towards digits that need not be valid: adopts one parameter after another, in
/// random order, as long as the configuration stays valid. Returns `from` if nothing can be adopted. Each digit must be
/// an index of the parameter's values.
std::uint64_t walk_towards(const space::Space& space, std::uint64_t from, std::span<const std::uint32_t> wanted,
                           base::Random& random);

/// The number of digits that differ.
std::size_t hamming_distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

/// Remembers configurations by their value indices, and whether they failed.
class KnownFailures {
 public:
  void add(std::vector<std::uint32_t> digits, bool failed) {
    (failed ? failed_ : succeeded_).push_back(std::move(digits));
  }
  /// Whether most of the nearest ones failed: those that differ from it in the fewest parameters.
  bool likely(const std::vector<std::uint32_t>& digits) const;

 private:
  std::vector<std::vector<std::uint32_t>> failed_, succeeded_;
};

}  // namespace xtune::search

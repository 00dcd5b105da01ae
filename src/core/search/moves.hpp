// Steps through a space: from one valid configuration to another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "core/space/space.hpp"

namespace xtune::search {

using Digits = std::vector<std::uint32_t>;  ///< value indices, one a parameter

/// A valid configuration that differs from `from` in one parameter, of random choice; half of the steps of an ordered
/// parameter go to the value next to its own. nullopt: a few dozen draws found none.
std::optional<std::uint64_t> random_step(const space::Space& space, std::uint64_t from, base::Random& random);

/// The way from a valid configuration towards digits that need not be valid: takes over parameter after parameter, in
/// random order, as long as the configuration stays valid. Ends at `from` where nothing can be taken over. A wanted
/// digit beyond a parameter's values is an error of the caller.
std::uint64_t walk_towards(const space::Space& space, std::uint64_t from, std::span<const std::uint32_t> wanted,
                           base::Random& random);

/// How many digits differ.
std::size_t hamming_distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace xtune::search

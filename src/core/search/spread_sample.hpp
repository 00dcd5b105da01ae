// A few configurations that represent a whole space.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/space/space.hpp"

namespace xtune::search {

/// Identifies the work of a configuration, for example by the key of its artifact: two with equal work are the same.
using WorkOf = std::function<std::string(std::uint64_t index)>;

/// Configurations with up to `limit` (>= 1) different pieces of work; the whole space, in order, if it has at most
/// `limit` configurations. The first ones contain every value of every parameter, as far as `limit` allows and random
/// draws find a valid one; a configuration that has a new value but known work is listed too, and does not count. The
/// others are uniform draws without replacement. Always the same sample; the sample of a smaller limit is its
/// beginning.
std::vector<std::uint64_t> spread_sample(const space::Space& space, std::uint64_t limit, const WorkOf& work_of);

}  // namespace xtune::search

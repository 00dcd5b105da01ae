// A few configurations that stand for a whole space.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/space/space.hpp"

namespace xtune::search {

/// What makes two configurations the same piece of work, such as the key of what they compile to.
using WorkOf = std::function<std::string(std::uint64_t index)>;

/// Configurations of at most `limit` (>= 1) different works; the whole space, in order, where it has no more than
/// `limit` configurations. The first ones show every value of every parameter, as far as `limit` allows and random
/// draws find one that is valid; a configuration with a new value of a known work is listed too, and does not count.
/// The others are uniform draws without replacement. Always the same sample, and a smaller limit's is its beginning.
std::vector<std::uint64_t> spread_sample(const space::Space& space, std::uint64_t limit, const WorkOf& work_of);

}  // namespace xtune::search

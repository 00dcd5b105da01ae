// In the order in which they were started, for each barrier.
#include "backends/host/tile_loads.hpp"

#include <algorithm>

namespace xtune::host {

bool TileLoads::advance(bool unexpected) {
  const auto first = std::ranges::find_if(loads_, [&](const TileLoad& load) {
    return load.barrier->waiting > 0 &&
           (unexpected || load.barrier->bytes >= static_cast<std::int64_t>(load.map.box_bytes()));
  });
  if (first == loads_.end()) return false;
  load_box(first->map, {first->at.data(), first->map.rank}, first->shared);
  first->barrier->complete(first->map.box_bytes());
  loads_.erase(first);
  return true;
}

bool TileLoads::writes(const ByteRange& range) const {
  return std::ranges::any_of(loads_, [&](const TileLoad& load) { return range.meets(load.range()); });
}

}  // namespace xtune::host

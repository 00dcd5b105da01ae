// In the order in which they were started.
#include "backends/host/tile_stores.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "backends/host/refusal.hpp"

namespace xtune::host {

void TileStores::start(const TensorMap& map, const std::byte* shared, std::span<const int> at) {
  Store store{map, shared, {}, groups_, {}};
  std::ranges::copy(at, store.at.begin());
  stores_.push_back(std::move(store));
}

void TileStores::wait(std::uint64_t pending, bool read) {
  std::size_t done = 0;
  for (Store& store : stores_) {
    if (store.group + pending >= groups_) break;
    if (store.rows.empty()) store.rows = read_box(store.map, store.shared);
    if (read) continue;
    store_box(store.map, store.at, store.rows);
    ++done;
  }
  stores_.erase(stores_.begin(), stores_.begin() + static_cast<std::ptrdiff_t>(done));
}

bool TileStores::reads(const ByteRange& range) const {
  return std::ranges::any_of(stores_, [&](const Store& store) {
    return store.rows.empty() && range.meets({store.shared, store.map.box_bytes()});
  });
}

void TileStores::end() {
  const auto unread = std::ranges::count_if(stores_, [](const Store& store) { return store.rows.empty(); });
  if (unread > 0)
    throw Refusal(
        fmt::format("it ended while {} of its copies from shared memory to a tensor had not been waited for: "
                    "call store_commit() and store_wait_read() or store_wait() before",
                    unread));
  for (const Store& store : stores_) store_box(store.map, store.at, store.rows);
  stores_.clear();
}

}  // namespace xtune::host

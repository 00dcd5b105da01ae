// One thread's copies of tiles from shared memory to tensors, each done as late as possible: a missing wait then shows
// in the results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/host/shared_window.hpp"
#include "backends/host/tensor_map.hpp"

namespace xtune::host {

class TileStores {
 public:
  void clear() { stores_.clear(), groups_ = 0; }
  void start(const TensorMap& map, const std::byte* shared, std::span<const int> at);
  void commit() { ++groups_; }
  /// Until at most `pending` groups are unfinished; `read`: until at most `pending` have not read shared memory.
  void wait(std::uint64_t pending, bool read);
  /// Whether a copy that has not read shared memory will read some of these bytes.
  bool reads(const ByteRange& range) const;
  /// When the thread has ended. Throws Refusal if shared memory was not read yet: the block may be gone by then.
  void end();

 private:
  struct Store {
    TensorMap map;
    const std::byte* shared;
    std::array<int, max_tensor_rank> at;
    std::uint64_t group;
    std::vector<std::byte> rows;  ///< what was read
  };
  std::vector<Store> stores_;
  std::uint64_t groups_ = 0;  ///< committed
};

}  // namespace xtune::host

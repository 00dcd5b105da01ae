// The copies of tiles to the shared memory of one block, each done as late as possible: when threads wait for its
// barrier and no other thread can run.
#pragma once

#include <array>
#include <cstddef>
#include <deque>

#include "backends/host/memory_barriers.hpp"
#include "backends/host/shared_window.hpp"
#include "backends/host/tensor_map.hpp"

namespace xtune::host {

struct TileLoad {
  TensorMap map;  ///< a copy: the thread that has the parameter may end before
  std::byte* shared;
  std::array<int, max_tensor_rank> at;
  MemoryBarrier* barrier;

  ByteRange range() const { return {shared, map.box_bytes()}; }
};

class TileLoads {
 public:
  void clear() { loads_.clear(); }
  void start(const TileLoad& load) { loads_.push_back(load); }
  /// Does the first copy that threads wait for, if there is one: only one whose bytes are expected, unless
  /// `unexpected`. Throws Refusal.
  bool advance(bool unexpected);
  std::size_t unfinished() const { return loads_.size(); }
  /// Whether one that is not done writes to some of these bytes.
  bool writes(const ByteRange& range) const;

 private:
  std::deque<TileLoad> loads_;
};

}  // namespace xtune::host

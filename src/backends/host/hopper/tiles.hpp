// Tensor maps and tiles: 128 bytes that describe a tensor, copies of boxes between it and shared memory, and the copies
// that a block and its threads have started, each done as late as possible: a missing wait then shows in the results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "backends/host/hopper/barriers.hpp"
#include "backends/host/hopper/cluster.hpp"
#include "core/measure/tensor_map.hpp"

namespace xtune::host {

/// Swizzled addresses: where parts of this many bytes lie in shared memory after their exchange against bank conflicts.
/// Source: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, "Swizzling Modes".
constexpr unsigned swizzle_unit = 16;

/// `swizzle`: bytes, 0 (none), 32, 64 or 128. Eight rows of this length make a pattern, which repeats.
constexpr std::size_t swizzle_period(unsigned swizzle) {
  return swizzle == 0 ? swizzle_unit : std::size_t{8} * swizzle;
}

/// The address with bits 4 to 6 (128), 4 and 5 (64) or 4 (32) combined by xor with the bits from 7 on.
template <class T>
T* swizzled(T* address, unsigned swizzle) {
  auto bits = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t mask = swizzle == 0 ? 0 : swizzle / swizzle_unit - 1;
  bits ^= (bits >> 7 & mask) << 4;
  return reinterpret_cast<T*>(bits);  // NOLINT(performance-no-int-to-ptr): some bits of a pointer were changed
}

constexpr std::size_t max_tensor_rank = 5;

/// As a kernel's parameter, in place of CUDA's CUtensorMap. Dimensions from the contiguous one on.
struct alignas(64) TensorMap {
  std::uint32_t magic;
  std::uint8_t rank, element_bytes, swizzle;  ///< swizzle in bytes
  std::uint8_t outside;                       ///< what elements outside of the tensor read as: Outside
  std::byte* address;
  std::array<std::uint32_t, max_tensor_rank> extents_below;     ///< elements, less one: up to 2^32 are allowed
  std::array<std::uint64_t, max_tensor_rank - 1> stride_bytes;  ///< of all dimensions but the first
  std::array<std::uint16_t, max_tensor_rank> box;
  std::array<std::uint8_t, max_tensor_rank> element_strides;
  bool tf32;  ///< elements are rounded when they are read

  static constexpr std::uint32_t valid = 0x70616D78;
  enum Outside : std::uint8_t { zero, nan_f16, nan_f32, nan_f64 };

  std::uint64_t extent(std::size_t dimension) const { return std::uint64_t{extents_below[dimension]} + 1; }
  /// Elements of the box that are copied along a dimension: each element_strides-th.
  std::uint32_t box_elements(std::size_t dimension) const {
    return (box[dimension] + element_strides[dimension] - 1u) / element_strides[dimension];
  }
  std::size_t box_bytes() const;
};
static_assert(sizeof(TensorMap) == 128);

/// The description is not forbidden. Throws CandidateFailure(rejected) for an interleaved one.
TensorMap encode_tensor_map(const measure::TensorMap& description, void* address);

/// The map at this address of a kernel. Throws Refusal if it is none, or has another rank than the coordinates.
const TensorMap& checked_map(const void* map, std::size_t coordinates);

/// Throws Refusal if a box may not begin at this address of shared memory.
void check_box_address(const TensorMap& map, const void* shared);

/// Copies the box at these coordinates (from the contiguous dimension on) to shared memory, swizzled. What lies outside
/// of the tensor is filled.
void load_box(const TensorMap& map, std::span<const int> at, std::byte* shared);
/// Reads the box from shared memory to plain rows, and writes those to the tensor, without what lies outside of it.
std::vector<std::byte> read_box(const TensorMap& map, const std::byte* shared);
void store_box(const TensorMap& map, std::span<const int> at, std::span<const std::byte> rows);

struct TileLoad {
  TensorMap map;  ///< a copy: the thread that has the parameter may end before
  std::byte* shared;
  std::array<int, max_tensor_rank> at;
  MemoryBarrier* barrier;

  ByteRange range() const { return {shared, map.box_bytes()}; }
};

/// The copies to the shared memory of one block, each done when threads wait for its barrier and no other thread can
/// run.
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

/// One thread's copies from shared memory to tensors.
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

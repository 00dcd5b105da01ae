// A box is a list of rows along the contiguous dimension; a row is copied in parts of 16 bytes, the unit of swizzling.
// Copies are done in the order in which they were started.
#include "backends/host/hopper/tiles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "backends/host/block/block_runner.hpp"
#include "core/build/candidate_failure.hpp"

namespace xtune::host {
namespace {

constexpr std::size_t tile_alignment = 128;

std::size_t row_bytes(const TensorMap& map) { return std::size_t{map.box_elements(0)} * map.element_bytes; }

/// Calls visit(row number, coordinates of its first element) for each row of the box.
template <class Visit>
void for_each_row(const TensorMap& map, std::span<const int> at, const Visit& visit) {
  std::array<std::int64_t, max_tensor_rank> place{};
  std::array<std::uint32_t, max_tensor_rank> step{};
  std::size_t rows = 1;
  for (std::size_t d = 1; d < map.rank; ++d) rows *= map.box_elements(d);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t d = 0; d < map.rank; ++d) place[d] = at[d] + std::int64_t{step[d]} * map.element_strides[d];
    visit(row, place);
    for (std::size_t d = 1; d < map.rank && ++step[d] == map.box_elements(d); ++d) step[d] = 0;
  }
}

bool is_inside(const TensorMap& map, std::size_t dimension, std::int64_t coordinate) {
  return coordinate >= 0 && static_cast<std::uint64_t>(coordinate) < map.extent(dimension);
}

/// The place in the tensor's memory of the first element of a row, which may lie before it; nullopt: the row is
/// outside.
std::optional<std::byte*> row_in_tensor(const TensorMap& map, const std::array<std::int64_t, max_tensor_rank>& place) {
  std::uintptr_t address = reinterpret_cast<std::uintptr_t>(map.address);
  for (std::size_t d = 1; d < map.rank; ++d) {
    if (!is_inside(map, d, place[d])) return std::nullopt;
    address += static_cast<std::uint64_t>(place[d]) * map.stride_bytes[d - 1];
  }
  address += static_cast<std::uintptr_t>(place[0] * map.element_bytes);
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): used only where it is inside
}

/// Of an element type that may have it.
TensorMap::Outside nan_of(DType dtype) {
  return size_of(dtype) == 2 ? TensorMap::nan_f16 : size_of(dtype) == 4 ? TensorMap::nan_f32 : TensorMap::nan_f64;
}

void fill_outside(const TensorMap& map, std::span<std::byte> elements) {
  std::uint64_t pattern = 0;
  switch (map.outside) {
    case TensorMap::nan_f16:
      pattern = 0x7fff;
      break;
    case TensorMap::nan_f32:
      pattern = 0x7fffffff;
      break;
    case TensorMap::nan_f64:
      pattern = 0x7fffffffffffffff;
      break;
    default:
      break;
  }
  for (std::size_t i = 0; i < elements.size(); i += map.element_bytes)
    std::memcpy(elements.data() + i, &pattern, map.element_bytes);
}

/// Rounds to nearest, ties away from zero, to 10 bits of mantissa.
void round_to_tf32(std::span<std::byte> elements) {
  for (std::size_t i = 0; i < elements.size(); i += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, elements.data() + i, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
    std::memcpy(elements.data() + i, &bits, 4);
  }
}

/// One row of the box as it arrives in shared memory.
void load_row(const TensorMap& map, const std::array<std::int64_t, max_tensor_rank>& place,
              std::span<std::byte> elements) {
  fill_outside(map, elements);
  const auto row = row_in_tensor(map, place);
  if (!row) return;
  const std::size_t size = map.element_bytes, step = map.element_strides[0];
  for (std::size_t i = 0; i * size < elements.size(); ++i)
    if (is_inside(map, 0, place[0] + static_cast<std::int64_t>(i * step)))
      std::memcpy(elements.data() + i * size, *row + i * step * size, size);
  if (map.tf32) round_to_tf32(elements);
}

/// Copies a plain row to its swizzled place, or from there.
template <class Shared, class Copy>
void for_each_part(const TensorMap& map, Shared* shared, std::size_t row, const Copy& copy) {
  const std::size_t bytes = row_bytes(map);
  for (std::size_t i = 0; i < bytes; i += swizzle_unit)
    copy(i, swizzled(shared + row * bytes + i, map.swizzle), std::min<std::size_t>(swizzle_unit, bytes - i));
}

}  // namespace

std::size_t TensorMap::box_bytes() const {
  std::size_t bytes = element_bytes;
  for (std::size_t d = 0; d < rank; ++d) bytes *= box_elements(d);
  return bytes;
}

TensorMap encode_tensor_map(const measure::TensorMap& description, void* address) {
  if (description.interleave != 0)
    throw build::CandidateFailure(
        Outcome::rejected, fmt::format("interleave = {}: the host backend has no interleaved tensor maps; run with "
                                       "--backend cuda",
                                       description.interleave));
  TensorMap map{};
  map.magic = TensorMap::valid;
  map.rank = static_cast<std::uint8_t>(description.shape.size());
  map.element_bytes = static_cast<std::uint8_t>(size_of(description.dtype));
  map.swizzle = static_cast<std::uint8_t>(description.swizzle);
  map.outside = description.nan_outside ? nan_of(description.dtype) : TensorMap::zero;
  map.tf32 = description.tf32;
  map.address = static_cast<std::byte*>(address);
  for (std::size_t d = 0; d < map.rank; ++d) {
    const std::size_t from = map.rank - 1 - d;
    map.extents_below[d] = static_cast<std::uint32_t>(description.shape[from] - 1);
    map.box[d] = static_cast<std::uint16_t>(description.box[from]);
    map.element_strides[d] = static_cast<std::uint8_t>(description.element_strides[from]);
    if (d > 0) map.stride_bytes[d - 1] = static_cast<std::uint64_t>(description.strides[from]) * map.element_bytes;
  }
  return map;
}

const TensorMap& checked_map(const void* map, std::size_t coordinates) {
  const auto& checked = *static_cast<const TensorMap*>(map);
  if (checked.magic != TensorMap::valid)
    throw Refusal(
        "a copy of a tile needs a tensor map, and there is none at this address: pass it as const __grid_constant__ "
        "xtune::hopper::TensorMap");
  if (checked.rank != coordinates)
    throw Refusal(
        fmt::format("a copy of a tile with {} coordinates needs a tensor map of as many dimensions, and this "
                    "one has {}",
                    coordinates, checked.rank));
  return checked;
}

void check_box_address(const TensorMap& map, const void* shared) {
  const std::size_t alignment = map.swizzle ? swizzle_period(map.swizzle) : tile_alignment;
  if (const std::size_t off = reinterpret_cast<std::uintptr_t>(shared) % alignment; off != 0)
    throw Refusal(
        fmt::format("a tile in shared memory with swizzle {} begins {} bytes beyond a multiple of {}, and "
                    "must begin at a multiple",
                    map.swizzle, off, alignment));
}

void load_box(const TensorMap& map, std::span<const int> at, std::byte* shared) {
  std::vector<std::byte> elements(row_bytes(map));
  for_each_row(map, at, [&](std::size_t row, const auto& place) {
    load_row(map, place, elements);
    for_each_part(map, shared, row, [&](std::size_t i, std::byte* to, std::size_t bytes) {
      std::memcpy(to, elements.data() + i, bytes);
    });
  });
}

std::vector<std::byte> read_box(const TensorMap& map, const std::byte* shared) {
  std::vector<std::byte> rows(map.box_bytes());
  const std::size_t bytes = row_bytes(map);
  for (std::size_t row = 0; row * bytes < rows.size(); ++row)
    for_each_part(map, shared, row, [&](std::size_t i, const std::byte* from, std::size_t count) {
      std::memcpy(rows.data() + row * bytes + i, from, count);
    });
  return rows;
}

void store_box(const TensorMap& map, std::span<const int> at, std::span<const std::byte> rows) {
  const std::size_t size = map.element_bytes, bytes = row_bytes(map), step = map.element_strides[0];
  for_each_row(map, at, [&](std::size_t row, const auto& place) {
    const auto to = row_in_tensor(map, place);
    for (std::size_t i = 0; to && i * size < bytes; ++i)
      if (is_inside(map, 0, place[0] + static_cast<std::int64_t>(i * step)))
        std::memcpy(*to + i * step * size, rows.data() + row * bytes + i * size, size);
  });
}

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

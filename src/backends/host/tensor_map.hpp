// The host's tensor maps: 128 bytes that describe a tensor, and copies of boxes between it and shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/measure/tensor_map.hpp"

namespace xtune::host {

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

}  // namespace xtune::host

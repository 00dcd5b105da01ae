// The limits are those in the CUDA driver API's manual, cuTensorMapEncodeTiled (CUDA 13.0).
#include "core/measure/tensor_map.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace xtune::measure {
namespace {

constexpr std::int64_t max_rank = 5, max_box = 256, max_element_stride = 8, row_alignment = 16;
constexpr std::int64_t max_extent = std::int64_t{1} << 32, stride_limit_bytes = std::int64_t{1} << 40;

using Extents = std::vector<std::int64_t>;
using Complaint = std::optional<ForbiddenMap>;

std::string list(const Extents& extents) { return fmt::format("[{}]", fmt::join(extents, ", ")); }

std::int64_t element_bytes(const TensorMap& map) { return static_cast<std::int64_t>(size_of(map.dtype)); }

bool is_one_of(std::int64_t value, std::initializer_list<std::int64_t> allowed) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

/// The first extent beyond 1 .. most.
Complaint forbidden_extent(const char* what, const Extents& extents, std::int64_t most) {
  for (const std::int64_t extent : extents)
    if (extent < 1 || extent > most)
      return ForbiddenMap{
          what, fmt::format("{} {} has the value {}, and 1 to {} are allowed", what, list(extents), extent, most)};
  return std::nullopt;
}

Complaint forbidden_lengths(const TensorMap& map) {
  const std::size_t rank = map.shape.size();
  if (rank < 1 || rank > static_cast<std::size_t>(max_rank))
    return ForbiddenMap{
        "shape", fmt::format("shape {} has {} dimensions, and 1 to {} are allowed", list(map.shape), rank, max_rank)};
  const auto wrong = [&](const char* what, const Extents& extents, std::size_t wanted) -> Complaint {
    if (extents.size() == wanted) return std::nullopt;
    return ForbiddenMap{what, fmt::format("{} {} has {} values, and shape {} needs {}", what, list(extents),
                                          extents.size(), list(map.shape), wanted)};
  };
  if (auto complaint = wrong("box", map.box, rank)) return complaint;
  if (auto complaint = wrong("element_strides", map.element_strides, rank)) return complaint;
  return wrong("strides", map.strides, rank - 1);
}

Complaint forbidden_type(const TensorMap& map) {
  if (map.dtype == DType::c128)
    return ForbiddenMap{"dtype", "elements of c128 have 16 bytes, and at most 8 are allowed: describe pairs of f64"};
  const bool floating =
      map.dtype == DType::f16 || map.dtype == DType::bf16 || map.dtype == DType::f32 || map.dtype == DType::f64;
  if (map.tf32 && map.dtype != DType::f32)
    return ForbiddenMap{"dtype",
                        fmt::format("tf32 reads elements of f32, and these are {}", xtune::to_string(map.dtype))};
  if (map.nan_outside && !floating)
    return ForbiddenMap{"outside", fmt::format("outside = \"nan\" needs elements of f16, bf16, f32 or f64, and these "
                                               "are {}",
                                               xtune::to_string(map.dtype))};
  return std::nullopt;
}

/// Without interleaving, the hardware ignores it.
Complaint forbidden_element_stride(const TensorMap& map) {
  if (map.interleave != 0 || map.element_strides.back() == 1) return std::nullopt;
  return ForbiddenMap{
      "element_strides",
      fmt::format("element_strides {} has {} for the last dimension, whose elements cannot be skipped: 1 is needed",
                  list(map.element_strides), map.element_strides.back())};
}

Complaint forbidden_strides(const TensorMap& map) {
  const std::int64_t alignment = map.interleave == 32 ? 32 : row_alignment;
  for (const std::int64_t stride : map.strides) {
    if (stride < 1 || stride >= stride_limit_bytes / element_bytes(map))
      return ForbiddenMap{
          "strides",
          fmt::format("strides {} of {} have the value {}, and a stride is positive and less than 2^40 bytes",
                      list(map.strides), xtune::to_string(map.dtype), stride)};
    if (stride * element_bytes(map) % alignment != 0)
      return ForbiddenMap{"strides",
                          fmt::format("a stride of {} elements of {} is {} bytes, and a multiple of {} bytes is needed",
                                      stride, xtune::to_string(map.dtype), stride * element_bytes(map), alignment)};
  }
  return std::nullopt;
}

Complaint forbidden_row(const TensorMap& map) {
  if (map.interleave != 0) return std::nullopt;
  const std::int64_t bytes = map.box.back() * element_bytes(map);
  const std::string row =
      fmt::format("the last extent of box {} is {} bytes of {}", list(map.box), bytes, xtune::to_string(map.dtype));
  if (bytes % row_alignment != 0)
    return ForbiddenMap{"box", fmt::format("{}, and a multiple of {} bytes is needed", row, row_alignment)};
  if (map.swizzle != 0 && bytes > map.swizzle)
    return ForbiddenMap{"box", fmt::format("{}, and swizzle = {} allows at most {}", row, map.swizzle, map.swizzle)};
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 1;) {
    if (__builtin_mul_overflow(stride, shape[i], &stride)) stride = std::numeric_limits<std::int64_t>::max();
    strides.insert(strides.begin(), stride);
  }
  return strides;
}

std::uint64_t span_bytes(const TensorMap& map) {
  constexpr std::uint64_t beyond = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0, bytes = 0;
  for (std::size_t i = 0; i < map.shape.size(); ++i) {
    const auto stride = i < map.strides.size() ? static_cast<std::uint64_t>(map.strides[i]) : 1;
    std::uint64_t offset = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(map.shape[i] - 1), stride, &offset) ||
        __builtin_add_overflow(last, offset, &last))
      return beyond;
  }
  return __builtin_mul_overflow(last + 1, size_of(map.dtype), &bytes) ? beyond : bytes;
}

std::optional<ForbiddenMap> forbidden_words(const TensorMap& map) {
  if (!is_one_of(map.swizzle, {0, 32, 64, 128}))
    return ForbiddenMap{"swizzle", fmt::format("swizzle = {}, and 0, 32, 64 and 128 bytes are allowed", map.swizzle)};
  if (!is_one_of(map.l2_promotion, {0, 64, 128, 256}))
    return ForbiddenMap{"l2_promotion",
                        fmt::format("l2_promotion = {}, and 0, 64, 128 and 256 bytes are allowed", map.l2_promotion)};
  if (!is_one_of(map.interleave, {0, 16, 32}))
    return ForbiddenMap{"interleave",
                        fmt::format("interleave = {}, and 0, 16 and 32 bytes are allowed", map.interleave)};
  if (map.interleave == 32 && map.swizzle != 32)
    return ForbiddenMap{"interleave", fmt::format("interleave = 32 needs swizzle = 32, and it is {}", map.swizzle)};
  if (map.interleave != 0 && map.shape.size() < 3)
    return ForbiddenMap{"interleave", fmt::format("interleave = {} needs at least 3 dimensions, and shape {} has {}",
                                                  map.interleave, list(map.shape), map.shape.size())};
  return std::nullopt;
}

std::optional<ForbiddenMap> forbidden(const TensorMap& map) {
  if (auto complaint = forbidden_lengths(map)) return complaint;
  if (auto complaint = forbidden_type(map)) return complaint;
  if (auto complaint = forbidden_words(map)) return complaint;
  if (auto complaint = forbidden_extent("shape", map.shape, max_extent)) return complaint;
  if (auto complaint = forbidden_extent("box", map.box, max_box)) return complaint;
  if (auto complaint = forbidden_extent("element_strides", map.element_strides, max_element_stride)) return complaint;
  if (auto complaint = forbidden_element_stride(map)) return complaint;
  if (auto complaint = forbidden_row(map)) return complaint;
  return forbidden_strides(map);
}

std::optional<std::string> forbidden_address(const TensorMap& map, const void* address) {
  const std::uintptr_t alignment = map.interleave == 32 ? 32 : 16;
  if (address == nullptr) return "it describes a null pointer";
  const std::uintptr_t off = reinterpret_cast<std::uintptr_t>(address) % alignment;
  if (off == 0) return std::nullopt;
  return fmt::format("it describes memory {} bytes beyond a multiple of {}, and a tensor map needs a multiple", off,
                     alignment);
}

std::optional<std::string> lack_of_tensor_maps(const device::DeviceInfo& device) {
  if (device::is_cpu(device) || device::nvidia_arch_number(device) >= 90) return std::nullopt;
  return fmt::format("{} has no tensor maps; they need an NVIDIA GPU of sm_90 or newer", device.arch);
}

std::string to_string(const TensorMap& map) {
  return fmt::format(
      "{}{} shape {} strides {} box {} element_strides {} swizzle {} l2_promotion {} interleave {} outside {}",
      xtune::to_string(map.dtype), map.tf32 ? " as tf32" : "", list(map.shape), list(map.strides), list(map.box),
      list(map.element_strides), map.swizzle, map.l2_promotion, map.interleave, map.nan_outside ? "nan" : "zero");
}

}  // namespace xtune::measure

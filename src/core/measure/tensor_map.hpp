// Tensor maps: descriptions by which NVIDIA's Tensor Memory Accelerator (TMA) copies boxes of a buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"
#include "xtune/dtype.hpp"

namespace xtune::measure {

/// Dimensions are in the order of the shape: the last one is contiguous. Values are as the spec has them; forbidden()
/// judges them.
struct TensorMap {
  DType dtype = DType::f32;  ///< of one element
  bool tf32 = false;         ///< elements of f32 are rounded to tf32 when they are read
  std::vector<std::int64_t> shape, box, element_strides;
  std::vector<std::int64_t> strides;  ///< in elements, of all dimensions but the last
  // Bytes; 0: none.
  std::int64_t swizzle = 0, l2_promotion = 128, interleave = 0;
  bool nan_outside = false;  ///< what lies outside of the shape reads as NaN, not as zero

  bool operator==(const TensorMap&) const = default;
};

/// A kernel's parameter `const __grid_constant__ CUtensorMap`. The contents are the device's own.
struct alignas(64) EncodedTensorMap {
  std::array<std::byte, 128> bytes{};
  bool operator==(const EncodedTensorMap&) const = default;
};

/// Dense strides for a shape, as in TensorMap::strides.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

/// The bytes from the first element to the end of the last one; only for a map that is not forbidden. 2^64 - 1 if there
/// are more.
std::uint64_t span_bytes(const TensorMap& map);

/// What forbids a description.
struct ForbiddenMap {
  std::string key;     ///< the key of a spec whose value is wrong: "box", "swizzle", "dtype"
  std::string reason;  ///< "box [128, 512] has the value 512, and 1 to 256 are allowed"
};

/// The limit of cuTensorMapEncodeTiled (CUDA driver API) that the description exceeds.
std::optional<ForbiddenMap> forbidden(const TensorMap& map);

/// The same for swizzle, l2_promotion and interleave only, which do not depend on other values than the rank.
std::optional<ForbiddenMap> forbidden_words(const TensorMap& map);

/// Why the buffer cannot be at this address, which must be aligned.
std::optional<std::string> forbidden_address(const TensorMap& map, const void* address);

/// Why no kernel of this device can take a tensor map: "sm_80 has no tensor maps; they need an NVIDIA GPU of sm_90 or
/// newer". A CPU's backend decides itself.
std::optional<std::string> lack_of_tensor_maps(const device::DeviceInfo& device);

/// All values on one line, for keys.
std::string to_string(const TensorMap& map);

}  // namespace xtune::measure

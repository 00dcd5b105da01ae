// The driver counts dimensions from the contiguous one on, and strides in bytes.
#include "backends/cuda/tensor_map.hpp"

#include <cstring>
#include <vector>

namespace xtune::cuda {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(measure::EncodedTensorMap));

/// Types of one byte, and complex numbers, are only moved.
CUtensorMapDataType type_of(const measure::TensorMap& map) {
  switch (map.dtype) {
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f32:
      return map.tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case DType::i16:
    case DType::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DType::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case DType::u64:
    case DType::c64:
    case DType::c128:  // forbidden
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzle_of(std::int64_t bytes) {
  switch (bytes) {
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

CUtensorMapL2promotion promotion_of(std::int64_t bytes) {
  switch (bytes) {
    case 64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case 128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case 256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    default:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
  }
}

CUtensorMapInterleave interleave_of(std::int64_t bytes) {
  if (bytes == 16) return CU_TENSOR_MAP_INTERLEAVE_16B;
  return bytes == 32 ? CU_TENSOR_MAP_INTERLEAVE_32B : CU_TENSOR_MAP_INTERLEAVE_NONE;
}

template <class Number>
std::vector<Number> reversed(const std::vector<std::int64_t>& values, std::int64_t factor = 1) {
  std::vector<Number> result;
  for (std::size_t i = values.size(); i-- > 0;) result.push_back(static_cast<Number>(values[i] * factor));
  return result;
}

}  // namespace

CUresult encode_tensor_map(const Driver& driver, measure::EncodedTensorMap* encoded, const measure::TensorMap& map,
                           void* address) {
  const auto extents = reversed<std::uint64_t>(map.shape);
  auto stride_bytes = reversed<std::uint64_t>(map.strides, static_cast<std::int64_t>(size_of(map.dtype)));
  stride_bytes.resize(extents.size());  // one too many: the driver refuses a null pointer, even for one dimension
  const auto box = reversed<unsigned>(map.box), element_strides = reversed<unsigned>(map.element_strides);
  CUtensorMap result;
  const CUresult status = driver.encode_tensor_map(
      &result, type_of(map), static_cast<unsigned>(extents.size()), address, extents.data(), stride_bytes.data(),
      box.data(), element_strides.data(), interleave_of(map.interleave), swizzle_of(map.swizzle),
      promotion_of(map.l2_promotion),
      map.nan_outside ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status == CUDA_SUCCESS) std::memcpy(encoded->bytes.data(), &result, sizeof result);
  return status;
}

}  // namespace xtune::cuda

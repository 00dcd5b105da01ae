// Tensor maps in the form of the CUDA driver.
#pragma once

#include "backends/cuda/driver.hpp"
#include "core/measure/tensor_map.hpp"

namespace xtune::cuda {

/// Calls the driver's cuTensorMapEncodeTiled, which it must have, for a map that is not forbidden.
CUresult encode_tensor_map(const Driver& driver, measure::EncodedTensorMap* encoded, const measure::TensorMap& map,
                           void* address);

}  // namespace xtune::cuda

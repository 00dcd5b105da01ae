// Tensor maps of the buffers that an application passes, encoded once for each address.
#pragma once

#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/runtime.hpp"
#include "dispatch/arguments.hpp"

namespace xtune::dispatch {

/// Storage for the maps of one launch.
using LaunchMaps = std::array<measure::EncodedTensorMap, max_tensor_maps>;

/// The maps of one prepared problem in one context. Thread-safe.
class EncodedMaps {
 public:
  explicit EncodedMaps(std::vector<measure::TensorMap> maps) : maps_(std::move(maps)), known_(maps_.size()) {}

  /// The maps of a call's arguments. Throws Error(invalid_argument) with the argument for a buffer that the device
  /// cannot read through its map.
  void fill(LaunchMaps& launch, const ArgumentPlan& plan, const void* const* values, backend::Launcher& launcher);

 private:
  const std::vector<measure::TensorMap> maps_;
  std::mutex mutex_;
  std::vector<std::unordered_map<void*, measure::EncodedTensorMap>> known_;  ///< for each map, by address
};

}  // namespace xtune::dispatch

// One problem while it is being prepared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dispatch/kernel_state.hpp"

namespace xtune::detail {

struct KernelState::Case {
  Bindings problem;
  device::DeviceInfo device;
  std::vector<std::string> archs;
  spec::Spec spec;  ///< restricted for the problem
  dispatch::Selection selection;
  std::shared_ptr<const dispatch::Failure> failure;  ///< from a tuning run; null: none
  std::string refusal;                               ///< not empty: why nothing may be launched

  bool has_failed(const Bindings& config) const { return failure && failure->configs.contains(config); }
};

/// Calls of this key throw that, as long as nothing else is put in its place.
inline dispatch::Prepared refused(const dispatch::Key& key, const std::string& why) {
  dispatch::Prepared entry;
  entry.key = key;
  entry.as_passed = false;
  entry.refusal = why;
  return entry;
}

}  // namespace xtune::detail

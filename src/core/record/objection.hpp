// What measurements say against running a configuration for a problem that it was not measured for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/space/value.hpp"
#include "xtune/outcome.hpp"

namespace xtune::record {

/// A configuration that was launched for a problem. What is pointed to outlives it.
struct PastLaunch {
  const Bindings* problem = nullptr;
  const device::DeviceInfo* device = nullptr;
  bool passed = false;  ///< else it failed, see failed_when_run
  std::int64_t unix_time_ms = 0;
};

/// Whether a record says that the launch itself went wrong: the driver refused it, it hung, crashed or gave a wrong
/// result. What a compiler or a limit of the device had against it says nothing of the results.
bool failed_when_run(Outcome outcome, std::string_view stage);

/// Of one configuration's launches, the one for which it should not be run for this problem on this device: its
/// launches on the nearest problem by shape decide, on this kind of device before others of its architecture, and there
/// a failure unless the same problem passed later. Problems of another kind are further away than all others. nullopt:
/// nothing speaks against it. holds(i): whether the launch was of today's source and spec; others say nothing.
std::optional<std::size_t> objection(const std::vector<PastLaunch>& launches, const Bindings& problem,
                                     const device::DeviceInfo& device, const std::function<bool(std::size_t)>& holds);

}  // namespace xtune::record

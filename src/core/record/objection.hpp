// Whether measurements are a reason not to run a configuration for a problem that it was not measured for.
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

/// A configuration that was launched for a problem. The objects it points to must outlive it.
struct PastLaunch {
  const Bindings* problem = nullptr;
  const device::DeviceInfo* device = nullptr;
  bool passed = false;  ///< false: it failed, see failed_when_run
  std::int64_t unix_time_ms = 0;
};

/// Whether a record shows that the launch itself failed: the driver refused it, it hung, crashed or gave a wrong
/// result. A refusal by a compiler or because of a limit of the device does not count.
bool failed_when_run(Outcome outcome, std::string_view stage);

/// Of one configuration's launches, the one because of which it should not be run for this problem on this device. Its
/// launches on the nearest problem by shape decide, those on this kind of device before others of its architecture;
/// there a failure counts unless the same problem passed later. Problems of another kind are further away than all
/// others. nullopt: no objection. holds(i): whether the launch was of today's source and spec; others do not count.
std::optional<std::size_t> objection(const std::vector<PastLaunch>& launches, const Bindings& problem,
                                     const device::DeviceInfo& device, const std::function<bool(std::size_t)>& holds);

}  // namespace xtune::record

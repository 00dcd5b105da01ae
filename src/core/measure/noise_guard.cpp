// Sentences about a device's state.
#include "core/measure/noise_guard.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace xtune::measure {
namespace {

bool holds(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

std::vector<std::string> disturbances(const DeviceState& state) {
  std::vector<std::string> found;
  // One of the ids is this process, though it may have another id in a container.
  if (state.processes.size() > 1) found.emplace_back("other processes compute on the device");
  for (const std::string& reason : state.throttling) found.push_back("the device is slowed down: " + reason);
  return found;
}

bool changed_process(const std::string& reason) {
  return reason.starts_with("the kernel ") || reason.starts_with("a kernel ");
}

void NoiseGuard::settle(const Look& look, const Pause& pause) {
  const int rounds = static_cast<int>(std::ceil(wait_s_ / pause_s));
  for (int round = 0;; ++round) {
    const DeviceState state = look();
    if (!errors_) errors_ = state.uncorrected_errors;
    before_ = disturbances(state);
    std::erase_if(outlasted_, [&](const std::string& item) { return !holds(before_, item); });
    const bool passing =
        std::any_of(before_.begin(), before_.end(), [&](const std::string& item) { return !holds(outlasted_, item); });
    if (!passing) return;
    if (round >= rounds) break;
    pause(pause_s);
  }
  outlasted_ = before_;
}

std::vector<std::string> NoiseGuard::taints(const DeviceState& after, double clock_mhz) {
  std::vector<std::string> reasons = before_;
  for (const std::string& item : disturbances(after)) base::add_once(reasons, item);
  if (clock_mhz > 0 && after.max_clock_mhz && clock_mhz < min_clock * *after.max_clock_mhz)
    base::add_once(reasons, fmt::format("the clock was {:.0f} MHz of {:.0f}", clock_mhz, *after.max_clock_mhz));
  if (after.stolen_share.value_or(0) > max_stolen)
    base::add_once(reasons, fmt::format("other virtual machines took {:.0f} % of the processors' time",
                                        *after.stolen_share * 100));
  if (after.lost_share.value_or(0) > max_lost)
    base::add_once(reasons, fmt::format("the CPUs were busy: the kernel waited for more than {:.0f} % of its time",
                                        max_lost * 100));
  if (after.said_busy) base::add_once(reasons, "the CPUs were busy: XTUNE_BUSY says so");
  if (errors_ && after.uncorrected_errors && *after.uncorrected_errors > *errors_)
    base::add_once(reasons, fmt::format("{} uncorrected memory errors", *after.uncorrected_errors - *errors_));
  if (after.uncorrected_errors) errors_ = after.uncorrected_errors;
  return reasons;
}

}  // namespace xtune::measure

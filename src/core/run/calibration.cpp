// Compares one configuration's times on all devices with those on the first.
#include "core/run/calibration.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/text.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune {
namespace {

constexpr double max_difference = 0.02;
constexpr int max_failures = 3;

/// Certainly, by the intervals of both medians.
bool differ(const Summary& a, const Summary& b) {
  return a.low > (1 + max_difference) * b.high || b.low > (1 + max_difference) * a.high;
}

}  // namespace

std::optional<std::uint64_t> Calibration::take_wanted() {
  if (asked_ || !index_ || !devices_.any_uncompared()) return std::nullopt;
  asked_ = true;
  return index_;
}

void Calibration::compiled(TrialPtr trial, bool ok) {
  trial_ = std::move(trial);
  if (!ok) try_another();
}

bool Calibration::wants(const PooledDevice& device) const {
  return device.state == PooledDevice::State::uncompared && trial_ && (devices_.is_first(device) || time_ms_);
}

/// The next one that passes may do.
void Calibration::try_another() {
  index_.reset();
  asked_ = false;
  trial_.reset();
  time_ms_.reset();
  if (++failures_ == max_failures)
    devices_.exclude_further("no configuration passes twice on " + name_of(devices_.first().device));
}

void Calibration::judge(PooledDevice& device, const Record& record) {
  const bool ok = record.outcome == Outcome::ok;
  if (devices_.is_first(device)) {
    if (!ok) return try_another();
    device.state = PooledDevice::State::in_use;
    time_ms_ = record.time_ms;
    return;
  }
  const std::string config = bindings_text(record.config), first = name_of(devices_.first().device);
  if (!ok)
    return devices_.exclude(device, fmt::format("{}, ok on {}, is {} here: {}", config, first,
                                                to_string(record.outcome), printable(record.message, 500)));
  const double slowness = record.time_ms.median / time_ms_->median;
  if (differ(record.time_ms, *time_ms_))
    return devices_.exclude(
        device, fmt::format("{} takes {} here, {:.1f} % {} than on {}{}", config, human_time_ms(record.time_ms.median),
                            100 * (slowness > 1 ? slowness - 1 : 1 - slowness), slowness > 1 ? "more" : "less", first,
                            record.tainted.empty() ? "" : "; " + record.tainted[0]));
  device.state = PooledDevice::State::in_use;
  device.slowness = slowness;
}

}  // namespace xtune

// Compares one configuration's times on all devices with those on the first.
#include "core/run/calibration.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/text.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune::run {
namespace {

constexpr double max_difference = 0.02;
constexpr int max_failures = 3;

/// Whether they certainly differ, by the intervals of both medians.
bool differ(const measure::Summary& a, const measure::Summary& b) {
  return a.low > (1 + max_difference) * b.high || b.low > (1 + max_difference) * a.high;
}

}  // namespace

std::optional<Calibration::Wanted> Calibration::take_wanted() {
  if (asked_ || !offered_ || !devices_.any_uncompared()) return std::nullopt;
  asked_ = true;
  return offered_;
}

void Calibration::compiled(TrialPtr trial, bool ok) {
  trial_ = std::move(trial);
  if (!ok) try_another();
}

TrialPtr Calibration::wanted_of(const PooledDevice& device) const {
  if (device.state != PooledDevice::State::uncompared) return nullptr;
  for (const auto& [other, record] : waiting_)
    if (other == &device) return nullptr;
  return trial_;
}

/// Tries the next configuration that passes.
void Calibration::try_another() {
  offered_.reset();
  asked_ = false;
  trial_.reset();
  waiting_.clear();
  if (++failures_ == max_failures)
    devices_.exclude_further("no configuration passes twice on " + name_of(devices_.first().device));
}

void Calibration::take(PooledDevice& device, const TrialPtr& trial, const record::Record& record) {
  if (trial != trial_) return;  // it has failed on the first device meanwhile
  if (!devices_.is_first(device)) {
    if (time_ms_) return judge(device, record);
    waiting_.emplace_back(&device, record);
    return;
  }
  if (record.outcome != Outcome::ok) return try_another();
  device.state = PooledDevice::State::in_use;
  time_ms_ = record.time_ms;
  for (const auto& [other, measured] : std::exchange(waiting_, {})) judge(*other, measured);
}

/// Judges a device other than the first.
void Calibration::judge(PooledDevice& device, const record::Record& record) {
  const std::string config = space::shown_text(record.config), first = name_of(devices_.first().device);
  if (record.outcome != Outcome::ok)
    return devices_.exclude(device, fmt::format("{}, ok on {}, is {} here: {}", config, first,
                                                to_string(record.outcome), base::printable(record.message, 500)));
  const double slowness = record.time_ms.median / time_ms_->median;
  if (differ(record.time_ms, *time_ms_))
    return devices_.exclude(
        device,
        fmt::format("{} takes {} here, {:.1f} % {} than on {}{}", config, base::human_time_ms(record.time_ms.median),
                    100 * (slowness > 1 ? slowness - 1 : 1 - slowness), slowness > 1 ? "more" : "less", first,
                    record.tainted.empty() ? "" : "; " + record.tainted[0]));
  device.state = PooledDevice::State::in_use;
  device.slowness = slowness;
}

}  // namespace xtune::run

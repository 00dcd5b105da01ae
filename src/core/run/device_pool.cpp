// Devices and their bench services, and one configuration's times on all of them.
#include "core/run/device_pool.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "core/space/value.hpp"

namespace xtune::run {

std::string name_of(const device::DeviceInfo& device) {
  return fmt::format("device {} ({}{}{})", device.index, device.name, device.uuid.empty() ? "" : ", ", device.uuid);
}

DevicePool::DevicePool(const target::Target& target, const std::vector<BenchService*>& benches,
                       CompileService& compiler, double compile_timeout_s, TuneObserver& observer)
    : observer_(observer) {
  for (std::size_t i = 0; i < benches.size() && i <= target.further.size(); ++i) {
    benches_.push_back(std::make_unique<RebuildingBench>(*benches[i], compiler, compile_timeout_s));
    devices_.push_back({benches_.back().get(), i == 0 ? target.device : target.further[i - 1]});
  }
}

std::size_t DevicePool::busy() const {
  return static_cast<std::size_t>(
      std::count_if(devices_.begin(), devices_.end(), [](const PooledDevice& device) { return device.busy; }));
}

bool DevicePool::any_uncompared() const {
  return std::any_of(devices_.begin() + 1, devices_.end(),
                     [](const PooledDevice& device) { return device.state == PooledDevice::State::uncompared; });
}

double DevicePool::slowness_of(const device::DeviceInfo& device) const {
  for (const PooledDevice& each : devices_)
    if (each.device.uuid == device.uuid && each.device.index == device.index) return each.slowness;
  return 1;
}

void DevicePool::exclude(PooledDevice& device, const std::string& why) {
  device.state = PooledDevice::State::excluded;
  observer_.on_warning(fmt::format("{} measures nothing in this run: {}", name_of(device.device), why));
}

void DevicePool::exclude_further(const std::string& why) {
  for (PooledDevice& device : devices_)
    if (!is_first(device)) exclude(device, why);
}

void DevicePool::set_problem(Problem problem) {
  for (const PooledDevice& device : devices_) {
    problem.device = device.device.index;
    device.bench->set_problem(problem);
  }
}

void DevicePool::prepare_further() {
  if (std::exchange(prepared_, true)) return;
  for (const PooledDevice& device : devices_)
    if (!is_first(device) && device.state == PooledDevice::State::uncompared) device.bench->prepare();
}

void DevicePool::compile_after_all() {
  for (const auto& bench : benches_) bench->compile_after_all();
}

void DevicePool::cancel_all() {
  for (const auto& bench : benches_) bench->cancel_all();
}

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

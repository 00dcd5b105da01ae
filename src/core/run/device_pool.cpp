// Devices and their bench services.
#include "core/run/device_pool.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace xtune::run {

std::string name_of(const device::DeviceInfo& device) {
  return fmt::format("device {} ({}{}{})", device.index, device.name, device.uuid.empty() ? "" : ", ", device.uuid);
}

DevicePool::DevicePool(const target::Target& target, const std::vector<ipc::BenchService*>& benches,
                       ipc::CompileService& compiler, double compile_timeout_s, TuneObserver& observer)
    : observer_(observer) {
  for (std::size_t i = 0; i < benches.size() && i <= target.further.size(); ++i) {
    benches_.push_back(std::make_unique<ipc::RebuildingBench>(*benches[i], compiler, compile_timeout_s));
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

void DevicePool::set_problem(ipc::OpenJob job) {
  for (const PooledDevice& device : devices_) {
    job.device = device.device.index;
    device.bench->set_problem(job);
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

}  // namespace xtune::run

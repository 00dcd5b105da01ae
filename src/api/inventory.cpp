// Probes of the backends for applications.
#include "xtune/inventory.hpp"

#include "api/workers.hpp"
#include "core/device/backend_facts.hpp"
#include "core/search/strategy.hpp"
#include "worker/ipc/target.hpp"

namespace xtune {
namespace {

std::vector<AvailableDevice> devices_of(const run::BackendState& state) {
  std::vector<AvailableDevice> devices;
  for (const device::DeviceInfo& device : state.devices)
    devices.push_back({device.backend, device.index, device.name, device.vendor, device.arch, device.driver,
                       device.compute_units, device.memory_bytes, device.shared_per_block_optin});
  return devices;
}

}  // namespace

std::vector<AvailableBackend> backends() {
  find_worker_program();
  std::vector<AvailableBackend> all;
  for (const std::string& name : device::backend_names()) {
    const run::BackendState state = worker::find_backend(name, true);
    all.push_back({state.name, devices_of(state), state.device_reason, state.toolchain, state.toolchain_reason});
  }
  return all;
}

std::vector<AvailableDevice> devices(const std::string& backend) {
  const std::vector<std::string> names = device::backends_for(backend);
  find_worker_program();
  std::vector<AvailableDevice> all;
  for (const std::string& name : names) {
    const std::vector<AvailableDevice> devices = devices_of(worker::find_devices(name));
    all.insert(all.end(), devices.begin(), devices.end());
  }
  return all;
}

std::vector<std::string> strategies() { return search::strategy_names(); }

}  // namespace xtune

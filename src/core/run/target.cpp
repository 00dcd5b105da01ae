// Choosing the backend and device to tune for.
#include <fmt/core.h>

#include "backends/backend.hpp"
#include "base/text.hpp"
#include "core/run/inventory.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

bool usable(const BackendState& state, const TargetOptions& options) {
  if (!options.need_device) return !state.toolchain.empty();
  return !state.devices.empty() && !state.toolchain.empty();
}

std::string lack_of(const BackendState& state) {
  if (state.devices.empty()) return state.name + ": " + state.device_reason;
  return state.name + ": " + state.toolchain_reason;
}

DeviceInfo device_for_arch(const std::string& backend, const std::string& arch) {
  auto device = known_device(arch);
  if (!device) {
    std::string known;
    for (const std::string& name : known_archs()) known += (known.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::invalid_argument,
                "unknown architecture '" + arch + "'" + did_you_mean(arch, known_archs()) + "; known: " + known);
  }
  const bool fits = (backend == "cuda" && device->vendor == "nvidia") || backend == "hip" ||
                    (backend == "host" && device->vendor == "cpu");
  if (!fits)
    throw Error(ErrorKind::invalid_argument, fmt::format("architecture '{}' is none of backend {}'s", arch, backend));
  device->backend = backend;
  return *device;
}

}  // namespace

Target choose_target(const TargetOptions& options) {
  Target target;
  std::vector<std::string> names{options.backend};
  if (options.backend == "auto") {
    names = backend_names();
    // An architecture names its vendor's backend without asking any driver.
    if (!options.arch.empty())
      if (const auto device = known_device(options.arch))
        names = {device->vendor == "nvidia" ? "cuda" : device->vendor == "amd" ? "hip" : "host"};
  }
  bool found = false;
  for (const std::string& name : names) {
    if (options.backend != "auto") make_backend(name);  // refuses an unknown name before any process starts
    BackendState state = find_backend(name, options.fresh);
    if (usable(state, options)) {
      target.backend = std::move(state);
      found = true;
      break;
    }
    target.notes.push_back(options.need_device ? lack_of(state) : name + ": " + state.toolchain_reason);
  }
  if (!found) {
    std::string message = options.need_device ? "no usable device" : "no usable compiler";
    for (const std::string& note : target.notes) message += "\n  " + note;
    throw Error(ErrorKind::unavailable, message);
  }

  const BackendState& backend = target.backend;
  if (!backend.devices.empty()) {
    if (options.device < 0 || static_cast<std::size_t>(options.device) >= backend.devices.size())
      throw Error(
          ErrorKind::invalid_argument,
          fmt::format("--device {}: backend {} has {} device{} (0 to {})", options.device, backend.name,
                      backend.devices.size(), backend.devices.size() == 1 ? "" : "s", backend.devices.size() - 1));
    target.device = backend.devices[static_cast<std::size_t>(options.device)];
  } else {
    target.present = false;
    target.device = device_for_arch(backend.name, options.arch.empty() ? backend.default_arch : options.arch);
  }
  target.arch = options.arch.empty() ? target.device.arch : options.arch;
  // "sm_90a" on an sm_90 is the same device; anything else is another one, known by its facts alone.
  const bool same = target.arch == target.device.arch || target.arch == target.device.arch + "a";
  if (target.present && !same) {
    if (options.need_device)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--arch {}: the device here is {} ({}); only `compile` and `space` work without it",
                              target.arch, target.device.arch, target.device.name));
    target.present = false;
    target.device = device_for_arch(backend.name, target.arch);
  }
  return target;
}

}  // namespace xtune

// Choosing the backend and device to tune for.
#include "core/target/target.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/record/best.hpp"
#include "xtune/error.hpp"

namespace xtune::target {
namespace {

/// A compiler is enough: for compiling, and if the user names the backend or the architecture.
bool without_device(const TargetOptions& options) {
  if (options.need == TargetNeed::device_or_named) return !device::is_choice(options.backend) || !options.arch.empty();
  return options.need == TargetNeed::compiler;
}

bool usable(const BackendState& state, bool need_device) {
  return !state.toolchain.empty() && !(need_device && state.devices.empty());
}

std::string lack_of(const BackendState& state) {
  if (state.devices.empty()) return state.name + ": " + state.device_reason;
  return state.name + ": " + state.toolchain_reason;
}

/// Why a backend's GPU is not used, without advice; the clearest reason of several has the highest rank: the GPU that
/// is there and cannot be compiled for, the driver that fails, the driver without a device, no driver.
struct NoGpu {
  int rank = -1;
  std::string text;
};

NoGpu no_gpu_of(const BackendState& state) {
  const auto opening = [](const std::string& reason) {
    return base::printable(reason.substr(0, std::min(reason.find(": "), reason.find(" ("))), 100);
  };
  if (!state.devices.empty())
    return {3, fmt::format("no compiler for {} ({})", state.devices[0].name, opening(state.toolchain_reason))};
  if (state.device_failed) return {2, fmt::format("no GPU ({})", base::printable(state.device_reason, 300))};
  return {state.driver_absent ? 0 : 1, fmt::format("no GPU ({})", opening(state.device_reason))};
}

device::DeviceInfo known_or_error(const std::string& arch) {
  if (const std::string complaint = device::feature_complaint(arch); !complaint.empty())
    throw Error(ErrorKind::invalid_argument, "architecture '" + arch + "': " + complaint);
  if (auto device = device::known_device(arch)) return *device;
  throw Error(ErrorKind::invalid_argument,
              fmt::format("unknown architecture '{}'{}; known: {}", arch, device::did_you_mean_arch(arch),
                          fmt::join(device::known_archs(), ", ")));
}

/// `named`: the user has named the backend; else the architecture determined it, and this build has no other for it, as
/// where hip was built for NVIDIA GPUs.
device::DeviceInfo device_for_arch(const BackendState& backend, const std::string& arch, bool named) {
  device::DeviceInfo device = known_or_error(arch);
  const auto usual = device::known_device(backend.default_arch);
  const std::string vendor = usual ? usual->vendor : "cpu";
  if (device.vendor != vendor)
    throw Error(
        named ? ErrorKind::invalid_argument : ErrorKind::unavailable,
        fmt::format("backend {1} does not compile for architecture '{0}'; it compiles for {2}", arch, backend.name,
                    vendor == "cpu"   ? "CPUs"
                    : vendor == "amd" ? "AMD GPUs"
                                      : "NVIDIA GPUs"));
  device.backend = backend.name;
  return device;
}

/// The first suitable backend. Throws Error(unavailable).
void choose_backend(const TargetOptions& options, Target& target) {
  std::vector<std::string> names = device::backends_for(options.backend);
  // An architecture determines its vendor's backend without a driver.
  if (const auto device = device::known_device(options.arch); device && device::is_choice(options.backend)) {
    if (options.backend == "gpu" && device::is_cpu(*device))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("architecture '{}' is a CPU's, and backend gpu stands for GPUs", options.arch));
    names = {device::backend_of_vendor(device->vendor)};
  }
  device::require_compiler(options.backend, options.compiler);
  if (!options.compiler.empty() && options.compiler != "auto")
    std::erase_if(names, [&](const std::string& name) {
      const std::vector<std::string> own = device::compilers_of(name);
      return std::find(own.begin(), own.end(), options.compiler) == own.end();
    });
  const bool compiler_alone = without_device(options);
  std::optional<BackendState> fallback;
  std::vector<std::string> reasons;
  NoGpu no_gpu;
  for (const std::string& name : names) {
    BackendState state = find_backend(name, options.fresh);
    select_compiler(state, options.compiler, options.arch);
    // Every machine has a CPU: it must not hide the compilers for GPUs of other machines.
    const bool is_gpu = !state.devices.empty() && !device::is_cpu(state.devices[0]);
    if (usable(state, true) && (is_gpu || !fallback)) {
      if (!is_gpu) target.no_gpu = no_gpu.text;
      target.backend = std::move(state);
      return;
    }
    if (compiler_alone && !fallback && usable(state, false)) {
      fallback = std::move(state);
      continue;
    }
    reasons.push_back(compiler_alone ? name + ": " + state.toolchain_reason : lack_of(state));
    if (NoGpu own = no_gpu_of(state); own.rank > no_gpu.rank) no_gpu = std::move(own);
  }
  if (fallback) {
    target.backend = std::move(*fallback);
    return;
  }
  std::string message = compiler_alone ? "no usable compiler" : "no usable device";
  for (const std::string& reason : reasons) message += "\n  " + reason;
  throw Error(ErrorKind::unavailable, message);
}

}  // namespace

std::vector<device::DeviceInfo> choose_devices(const BackendState& backend, const std::vector<int>& indices) {
  const std::vector<device::DeviceInfo>& present = backend.devices;
  std::vector<device::DeviceInfo> chosen;
  if (indices.empty()) {
    std::copy_if(present.begin(), present.end(), std::back_inserter(chosen),
                 [&](const device::DeviceInfo& device) { return record::same_device(device, present.front()); });
    return chosen;
  }
  for (const int index : indices) {
    if (index < 0 || static_cast<std::size_t>(index) >= present.size())
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("device {}: backend {} has {} device{} (0 to {})", index, backend.name, present.size(),
                              present.size() == 1 ? "" : "s", present.size() - 1));
    const device::DeviceInfo& device = present[static_cast<std::size_t>(index)];
    if (std::count(indices.begin(), indices.end(), index) > 1)
      throw Error(ErrorKind::invalid_argument, fmt::format("device {} is named twice", index));
    if (!chosen.empty() && !record::same_device(device, chosen.front()))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("device {} ({}, {}, {} compute units) is of another kind than device {} ({}, "
                              "{}, {}); tune each kind in its own run",
                              device.index, device.name, device.arch, device.compute_units, chosen.front().index,
                              chosen.front().name, chosen.front().arch, chosen.front().compute_units));
    chosen.push_back(device);
  }
  return chosen;
}

Target choose_target(const TargetOptions& options) {
  Target target;
  choose_backend(options, target);
  const BackendState& backend = target.backend;
  if (!backend.devices.empty()) {
    target.further = choose_devices(backend, options.devices);
    target.device = target.further.front();
    target.further.erase(target.further.begin());
  } else {
    target.present = false;
    target.assumed_arch = options.arch.empty();
    target.device = device_for_arch(backend, target.assumed_arch ? backend.default_arch : options.arch,
                                    !device::is_choice(options.backend));
  }
  target.arch = options.arch.empty() ? device::code_arch(target.device) : device::code_arch(options.arch);
  select_compiler(target.backend, options.compiler, target.arch);
  // "sm_90a" on an sm_90 is the same device, and so is "gfx90a:xnack+" on a gfx90a; any other architecture is another
  // device, known only by its facts. So is "gfx942" on an emulated one; but not the other way round.
  const std::string_view plain = device::without_features(target.arch);
  const bool same = (plain == target.device.arch || plain == device::code_arch(target.device)) &&
                    (!device::is_emulated(options.arch) || device::is_emulated(target.device));
  if (target.present && !same) {
    known_or_error(options.arch);
    if (options.need == TargetNeed::device)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--arch {}: the device here is {} ({}), and kernels are executed only on it", target.arch,
                              target.device.arch, target.device.name));
    target.present = false;
    target.further.clear();
    target.device = device_for_arch(backend, options.arch, !device::is_choice(options.backend));
  }
  const device::BackendFacts* const facts = device::find_backend_facts(target.backend.name);
  target.own_memory = facts && facts->memory == device::ArgumentMemory::device;
  return target;
}

}  // namespace xtune::target

// The facts of a device under the names that expressions use.
#include "core/device/device_info.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/device/backend_facts.hpp"

namespace xtune::device {

int nvidia_arch_number(const DeviceInfo& device) noexcept {
  const bool known = device.vendor == "nvidia" && device.arch.starts_with("sm_");
  return known ? std::atoi(device.arch.c_str() + 3) : 0;
}

bool is_emulated(std::string_view arch) noexcept { return arch.ends_with(emulated_mark); }

std::string emulated_arch(std::string_view arch) { return std::string(arch) + std::string(emulated_mark); }

std::string emulated_name(std::string_view arch) { return "emulated " + std::string(arch) + " (no hardware)"; }

std::string code_arch(std::string_view arch) {
  if (is_emulated(arch)) arch.remove_suffix(emulated_mark.size());
  return std::string(arch);
}

std::string code_arch(const DeviceInfo& device) {
  const BackendFacts* const facts = find_backend_facts(device.backend);
  if (facts && facts->source == SourceKind::kokkos) return device.arch;
  return full_arch(code_arch(device.arch));
}

bool knows_arch(const std::vector<std::string>& known, std::string_view arch) {
  return known.empty() || arch.empty() || std::find(known.begin(), known.end(), base_arch(arch)) != known.end();
}

int max_cluster_blocks(const DeviceInfo& device) noexcept {
  // 8 are portable; 16 need an opt-in (CUDA C++ Programming Guide, Thread Block Clusters). The host backend runs 16.
  return is_cpu(device) || nvidia_arch_number(device) >= 90 ? 16 : 0;
}

bool may_be_same_hardware(const DeviceInfo& a, const DeviceInfo& b) {
  const auto unknown = [](const DeviceInfo& device) { return device.arch.empty() || device.arch == "unknown"; };
  return a.name == b.name && (a.arch == b.arch || unknown(a) || unknown(b));
}

Bindings device_facts(const DeviceInfo& device) {
  // Without index, uuid and driver: a space must not depend on which of two equal devices a run uses.
  Bindings facts;
  auto text = [&facts](const char* name, const std::string& value) { facts.emplace(name, Value(value)); };
  auto number = [&facts](const char* name, std::int64_t value) { facts.emplace(name, Value(value)); };
  text("device.backend", device.backend);
  text("device.name", device.name);
  text("device.vendor", device.vendor);
  // The space is that of the device, also for an emulator in its place, and for code with features of the target.
  text("device.arch", std::string(without_features(code_arch(device.arch))));
  number("device.warp_size", device.warp_size);
  number("device.compute_units", device.compute_units);
  number("device.shared_per_block", device.shared_per_block);
  number("device.shared_per_block_optin", device.shared_per_block_optin);
  number("device.shared_per_compute_unit", device.shared_per_compute_unit);
  number("device.registers_per_block", device.registers_per_block);
  number("device.registers_per_compute_unit", device.registers_per_compute_unit);
  number("device.max_threads_per_block", device.max_threads_per_block);
  number("device.max_threads_per_compute_unit", device.max_threads_per_compute_unit);
  number("device.max_grid_x", device.max_grid_x);
  number("device.max_grid_y", device.max_grid_y);
  number("device.max_grid_z", device.max_grid_z);
  number("device.max_block_x", device.max_block_x);
  number("device.max_block_y", device.max_block_y);
  number("device.max_block_z", device.max_block_z);
  number("device.l2_bytes", device.l2_bytes);
  number("device.memory_bytes", device.memory_bytes);
  number("device.clock_khz", device.clock_khz);
  number("device.memory_clock_khz", device.memory_clock_khz);
  number("device.memory_bus_bits", device.memory_bus_bits);
  number("device.max_cluster_blocks", max_cluster_blocks(device));
  return facts;
}

const std::vector<std::string>& device_fact_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto& [name, value] : device_facts(DeviceInfo{})) result.push_back(name);
    return result;  // a map's keys are sorted
  }();
  return names;
}

}  // namespace xtune::device

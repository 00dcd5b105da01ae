// What xtune knows of a device: the facts that specs, keys and reports speak of, in the same words for every vendor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::device {

struct DeviceInfo {
  std::string backend;  ///< "cuda", "hip", "host"
  int index = 0;        ///< as the driver numbers the devices it shows this process
  std::string name;     ///< "NVIDIA H200"
  std::string vendor;   ///< "nvidia", "amd", "cpu"
  std::string arch;     ///< "sm_90", "gfx90a", "x86_64_v3": what artifacts are compiled for and records filed under
  std::string uuid;     ///< empty where the driver tells none
  std::string driver;   ///< driver version, "13.0 (580.65)"; empty on a CPU
  int warp_size = 32;
  int compute_units = 0;  ///< SMs, CUs, or CPU threads
  /// On a CPU: what its control group allows, in thousandths of a CPU, where that is below compute_units; 0: all.
  std::int64_t cpu_quota_milli = 0;
  std::int64_t shared_per_block = 0;        ///< bytes without opting in
  std::int64_t shared_per_block_optin = 0;  ///< bytes at most
  std::int64_t shared_per_compute_unit = 0;
  std::int64_t registers_per_block = 0;
  std::int64_t registers_per_compute_unit = 0;
  int max_threads_per_block = 1024;
  int max_threads_per_compute_unit = 0;
  std::int64_t max_grid_x = 2147483647, max_grid_y = 65535, max_grid_z = 65535;
  int max_block_x = 1024, max_block_y = 1024, max_block_z = 64;
  std::int64_t l2_bytes = 0;      ///< on a CPU: its last-level cache
  std::int64_t memory_bytes = 0;  ///< 0 = unknown (a device that is not present)
  std::int64_t clock_khz = 0, memory_clock_khz = 0;
  int memory_bus_bits = 0;
};

/// Whether kernels run on the processor, beside compilers and everything else, in the memory that all share.
inline bool is_cpu(const DeviceInfo& device) { return device.vendor == "cpu"; }

/// The facts as expressions see them, under "device.<name>" (vendor, arch, warp_size, ...).
Bindings device_facts(const DeviceInfo& device);
/// The names that device_facts defines, "device." included, sorted; for checks and suggestions.
const std::vector<std::string>& device_fact_names();

/// Whether two descriptions may be of one kind of device, whatever the backends: the same name, and no two known
/// architectures that differ. Backends and recordings differ in what else they tell.
bool may_be_same_hardware(const DeviceInfo& a, const DeviceInfo& b);

/// What names an architecture's facts: "sm_90" of "sm_90a" (code for this chip only) and "sm_100f" (its family),
/// "gfx90a" of "gfx90a:sramecc+:xnack-" (features of the target).
std::string_view base_arch(std::string_view arch);

/// A device that is not present, by architecture (known_devices.def, from the vendors' guides). "sm_90a" finds sm_90's
/// facts and keeps its own arch. nullopt: not known.
std::optional<DeviceInfo> known_device(std::string_view arch);
std::vector<std::string> known_archs();
/// What an unknown architecture was meant to be, with the words around it: " (did you mean 'sm_90'?)", or for a product
/// " (did you mean 'sm_90a', the architecture of NVIDIA H100 SXM?)"; empty where nothing is near.
std::string did_you_mean_arch(std::string_view word);

/// The same by product: a name of known_devices.def, whole or without the words before it ("RTX 2080 Ti") and what
/// tells its form ("MI250X", "H100"); letter case does not count. nullopt: not known, or not the only one of that name.
std::optional<DeviceInfo> known_product(std::string_view name);
/// All products that a name may mean: the one that is called exactly so, else each that known_product would accept.
std::vector<std::string> products_called(std::string_view name);
std::vector<std::string> known_products();

/// The product that a driver or a recording names, which may say more than known_devices.def: "NVIDIA A100-PCIE-40GB",
/// "Tesla V100-SXM2-32GB". nullopt: not known.
std::optional<DeviceInfo> product_of_device(std::string_view device_name);

}  // namespace xtune::device

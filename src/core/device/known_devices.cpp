// Devices that are not present, from known_devices.def.
#include <cctype>

#include "core/device/device_info.hpp"

namespace xtune {
namespace {

struct KnownDevice {
  const char* arch;
  const char* product;
  const char* vendor;
  int warp_size;
  int compute_units;
  std::int64_t shared_kib, shared_optin_kib, shared_compute_unit_kib;
  std::int64_t registers_per_block, registers_per_compute_unit;
  int max_threads_per_compute_unit;
  std::int64_t l2_kib;
};

constexpr KnownDevice known_devices[] = {
#define DEVICE(...) {__VA_ARGS__},
#include "core/device/known_devices.def"
#undef DEVICE
};

/// The architecture whose facts a variant shares: "sm_90" of "sm_90a" (code for this chip only) and "sm_100f" (its
/// family), "gfx90a" of "gfx90a:sramecc+:xnack-" (features of the target).
std::string_view base_arch(std::string_view arch) {
  if (arch.starts_with("sm_") && arch.size() > 4 && (arch.back() == 'a' || arch.back() == 'f') &&
      std::isdigit(static_cast<unsigned char>(arch[arch.size() - 2])))
    arch.remove_suffix(1);
  else if (arch.starts_with("gfx"))
    arch = arch.substr(0, arch.find(':'));
  return arch;
}

}  // namespace

std::optional<DeviceInfo> known_device(std::string_view arch) {
  const std::string_view base = base_arch(arch);
  for (const KnownDevice& known : known_devices) {
    if (base != known.arch) continue;
    DeviceInfo device;
    const std::string_view vendor = known.vendor;
    device.backend = vendor == "nvidia" ? "cuda" : vendor == "amd" ? "hip" : "host";
    device.name = known.product;
    device.vendor = known.vendor;
    device.arch = std::string(arch);
    device.warp_size = known.warp_size;
    device.compute_units = known.compute_units;
    device.shared_per_block = known.shared_kib * 1024;
    device.shared_per_block_optin = known.shared_optin_kib * 1024;
    device.shared_per_compute_unit = known.shared_compute_unit_kib * 1024;
    device.registers_per_block = known.registers_per_block;
    device.registers_per_compute_unit = known.registers_per_compute_unit;
    device.max_threads_per_compute_unit = known.max_threads_per_compute_unit;
    device.l2_bytes = known.l2_kib * 1024;
    if (vendor == "amd") device.max_block_z = 1024;  // as HIP reports for every AMD GPU
    return device;
  }
  return std::nullopt;
}

std::vector<std::string> known_archs() {
  std::vector<std::string> archs;
  for (const KnownDevice& known : known_devices) archs.emplace_back(known.arch);
  return archs;
}

}  // namespace xtune

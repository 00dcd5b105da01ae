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
};

struct Product {
  const char* name;
  const char* arch;
  int compute_units;
  std::int64_t l2_kib;
};

// Of a product's row, what DeviceInfo takes; the rest is for device_model.cpp.
constexpr Product products[] = {
#define PRODUCT(name, arch, units, clock_mhz, memory_GB_s, l2_kib, ...) {name, arch, units, l2_kib},
#include "core/device/known_devices.def"
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

}  // namespace

std::string_view base_arch(std::string_view arch) {
  if (arch.starts_with("sm_") && arch.size() > 4 && (arch.back() == 'a' || arch.back() == 'f') &&
      std::isdigit(static_cast<unsigned char>(arch[arch.size() - 2])))
    arch.remove_suffix(1);
  else if (arch.starts_with("gfx"))
    arch = arch.substr(0, arch.find(':'));
  return arch;
}

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

std::optional<DeviceInfo> known_product(std::string_view name) {
  if (name.empty()) return std::nullopt;
  const Product* found = nullptr;
  for (const Product& product : products) {
    const bool same = lower(product.name) == lower(name);
    if (same || (found == nullptr && lower(product.name).find(lower(name)) != std::string::npos)) found = &product;
    if (same) break;
  }
  if (found == nullptr) return std::nullopt;
  std::optional<DeviceInfo> device = known_device(found->arch);
  device->name = found->name;
  device->compute_units = found->compute_units;
  device->l2_bytes = found->l2_kib * 1024;
  return device;
}

std::vector<std::string> known_products() {
  std::vector<std::string> names;
  for (const Product& product : products) names.emplace_back(product.name);
  return names;
}

std::vector<std::string> known_archs() {
  std::vector<std::string> archs;
  for (const KnownDevice& known : known_devices) archs.emplace_back(known.arch);
  return archs;
}

}  // namespace xtune

// Devices that are not present, from known_devices.def.
#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/device/device_info.hpp"

namespace xtune::device {
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

// The part of a product's row for DeviceInfo; the rest is used in device_model.cpp.
constexpr Product products[] = {
#define PRODUCT(name, arch, units, clock_mhz, memory_GB_s, l2_kib, ...) {name, arch, units, l2_kib},
#include "core/device/known_devices.def"
};

/// Whether the words are the whole name or its last words.
bool ends_with_words(std::string_view name, std::string_view words) {
  if (words.empty() || !name.ends_with(words)) return false;
  return name.size() == words.size() || name[name.size() - words.size() - 1] == ' ';
}

/// Removes "(one GCD)" and "SXM", which distinguish products that have only one entry in the table.
std::string without_form(std::string name) {
  for (const std::string_view form : {" sxm", " (one gcd)"})
    if (name.ends_with(form)) name.resize(name.size() - form.size());
  return name;
}

std::string without_vendor(std::string name) {
  for (const std::string_view vendor : {"nvidia ", "tesla ", "amd "})
    if (name.starts_with(vendor)) name.erase(0, vendor.size());
  return name;
}

/// Whether the text after a product's name describes only its form and memory: "-pcie-40gb", " 80gb hbm3".
bool only_forms(std::string_view rest) {
  if (!rest.empty() && rest[0] != ' ' && rest[0] != '-') return false;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find_first_of(" -"));
    const bool memory = word.size() > 2 && word.ends_with("gb") &&
                        std::all_of(word.begin(), word.end() - 2, [](char c) { return c >= '0' && c <= '9'; });
    const bool form = word == "pcie" || word == "nvl" || word == "oam" || word.starts_with("sxm");
    if (!memory && !form && !word.starts_with("hbm")) return false;
    rest.remove_prefix(word.size());
  }
  return true;
}

/// The features that code for an AMD processor can be compiled for (LLVM AMDGPU backend guide, "Processors").
std::vector<std::string> features_of(std::string_view processor) {
  for (const std::string_view with_both : {"gfx906", "gfx908", "gfx90a", "gfx94", "gfx95"})
    if (processor.starts_with(with_both)) return {"sramecc", "xnack"};
  const bool has_xnack = processor.starts_with("gfx101") || (processor.starts_with("gfx9") && processor.size() == 6);
  return has_xnack ? std::vector<std::string>{"xnack"} : std::vector<std::string>{};
}

}  // namespace

std::string_view base_arch(std::string_view arch) {
  arch.remove_suffix(is_emulated(arch) ? emulated_mark.size() : 0);
  if (arch.starts_with("sm_") && arch.size() > 4 && (arch.back() == 'a' || arch.back() == 'f') &&
      std::isdigit(static_cast<unsigned char>(arch[arch.size() - 2])))
    arch.remove_suffix(1);
  return without_features(arch);
}

std::string_view without_features(std::string_view arch) {
  return arch.starts_with("gfx") ? arch.substr(0, arch.find(':')) : arch;
}

std::string feature_complaint(std::string_view arch) {
  const std::string_view processor = without_features(arch);
  if (processor.size() == arch.size()) return {};
  std::vector<std::string> expected = features_of(processor);
  for (const std::string& feature : base::split(std::string(arch.substr(processor.size() + 1)), ':')) {
    const std::string name = feature.substr(0, feature.find_first_of("+-"));
    const bool known = std::erase(expected, name) == 1 && feature.size() == name.size() + 1;
    if (known) continue;
    const std::vector<std::string> all = features_of(processor);
    std::string words = "no ':'; the target has no features";
    if (!all.empty()) words = "after each ':' one of";
    for (const std::string& one : all) words += (&one == all.data() ? " " : ", ") + one + "+, " + one + '-';
    return "'" + base::printable(feature, 80) + "' is not a feature of " + std::string(processor) +
           (all.empty() ? "" : " that is named once, with its sign") + " (expected " + words + ")";
  }
  return {};
}

std::string full_arch(std::string_view arch) {
  const bool has_own_features = arch == "sm_90" || (arch.starts_with("sm_1") && arch.size() > 5);
  return std::string(arch) + (has_own_features && base_arch(arch) == arch ? "a" : "");
}

std::optional<DeviceInfo> known_device(std::string_view arch) {
  const std::string_view base = base_arch(arch);
  for (const KnownDevice& known : known_devices) {
    if (base != known.arch) continue;
    DeviceInfo device;
    const std::string_view vendor = known.vendor;
    device.backend = backend_of_vendor(vendor);
    device.name = is_emulated(arch) ? emulated_name(base) : known.product;
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

static DeviceInfo info_of(const Product& product) {
  DeviceInfo device = known_device(product.arch).value();
  device.name = product.name;
  device.compute_units = product.compute_units;
  device.l2_bytes = product.l2_kib * 1024;
  return device;
}

std::vector<std::string> products_called(std::string_view name) {
  std::vector<std::string> called;
  const std::string wanted = base::lower_case(name);
  for (const Product& product : products) {
    const std::string full = base::lower_case(product.name);
    if (full == wanted) return {product.name};
    if (ends_with_words(full, wanted) || ends_with_words(without_form(full), wanted)) called.emplace_back(product.name);
  }
  return called;
}

std::optional<DeviceInfo> known_product(std::string_view name) {
  const std::vector<std::string> called = products_called(name);
  if (called.size() != 1) return std::nullopt;
  for (const Product& product : products)
    if (called.front() == product.name) return info_of(product);
  return std::nullopt;
}

std::optional<DeviceInfo> product_of_device(std::string_view device_name) {
  const std::string device = without_vendor(base::lower_case(device_name));
  const Product* found = nullptr;
  std::size_t longest = 0;
  for (const Product& product : products) {
    const std::string full = without_vendor(base::lower_case(product.name));
    for (const std::string& name : {full, without_form(full)})
      if (name.size() > longest && device.starts_with(name) && only_forms(device.substr(name.size())))
        found = &product, longest = name.size();
  }
  return found ? std::optional(info_of(*found)) : std::nullopt;
}

std::vector<std::string> known_products() {
  std::vector<std::string> names;
  for (const Product& product : products) names.emplace_back(product.name);
  return names;
}

/// The products with this name, or else those whose names contain it: "mi300".
static std::vector<const Product*> products_like(std::string_view word) {
  std::vector<const Product*> found;
  for (const std::string& name : products_called(word))
    for (const Product& product : products)
      if (name == product.name) found.push_back(&product);
  if (!found.empty() || word.size() < 3) return found;
  for (const Product& product : products)
    if (base::lower_case(product.name).find(base::lower_case(word)) != std::string::npos) found.push_back(&product);
  return found;
}

std::string did_you_mean_arch(std::string_view word) {
  const std::vector<const Product*> like = products_like(word);
  if (like.empty()) return base::did_you_mean(word, known_archs());
  return " (did you mean '" + full_arch(like.front()->arch) + "', the architecture of " + like.front()->name + "?)";
}

std::vector<std::string> known_archs() {
  std::vector<std::string> archs;
  for (const KnownDevice& known : known_devices) archs.emplace_back(known.arch);
  return archs;
}

}  // namespace xtune::device

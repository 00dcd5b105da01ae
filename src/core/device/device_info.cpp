// The facts of a device under the names that expressions use, and devices that are not present, from known_devices.def.
#include "core/device/device_info.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "xtune/error.hpp"

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
  double clock_mhz, memory_GB_s;
  std::int64_t l2_kib;
  double tflops[rate_count];
};

constexpr Product products[] = {
#define PRODUCT(name, arch, units, clock_mhz, memory_GB_s, l2_kib, ...) \
  {name, arch, units, clock_mhz, memory_GB_s, l2_kib, {__VA_ARGS__}},
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

/// Whether the text after a product's name describes only its form and memory: "-pcie-40gb", " 80gb hbm3", " sxm6 ac".
bool only_forms(std::string_view rest) {
  if (!rest.empty() && rest[0] != ' ' && rest[0] != '-') return false;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find_first_of(" -"));
    const bool memory = word.size() > 2 && word.ends_with("gb") &&
                        std::all_of(word.begin(), word.end() - 2, [](char c) { return c >= '0' && c <= '9'; });
    const bool form = word == "pcie" || word == "nvl" || word == "oam" || word == "ac" || word.starts_with("sxm");
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

struct Unit {
  const char* arch;
  int blocks, registers_per_thread, register_granule, schedulers;
  int shared_bytes_per_clock, cache_bytes_per_clock, fma_per_clock, dependent_cycles;
};

struct Matrix {
  const char* arch;
  const char* type;
  int m, n, k;
};

constexpr Unit units[] = {
#define UNIT(...) {__VA_ARGS__},
#include "core/device/known_devices.def"
};
constexpr Matrix matrices[] = {
#define MATRIX(...) {__VA_ARGS__},
#include "core/device/known_devices.def"
};

/// The product with exactly this name, else the one that represents the architecture.
const Product* units_of(const DeviceInfo& info, std::string_view arch) {
  if (arch == "gfx940" || arch == "gfx941") arch = "gfx942";  // they have no products
  const Product* representative = nullptr;
  for (const Product& product : products) {
    if (arch != product.arch) continue;
    if (info.name.find(product.name) != std::string::npos) return &product;
    if (representative == nullptr) representative = &product;
  }
  return representative;
}

/// GB/s from the numbers of the driver; 0 if they do not determine it. The clock counts half the transfers of HBM, and
/// of GDDR as NVIDIA's driver reports it. For AMD's GDDR it counts a sixteenth, so the table is used instead.
double reported_bandwidth(const DeviceInfo& info) {
  const bool doubled = info.vendor == "nvidia" || info.arch.starts_with("gfx9");
  return doubled ? 2e-6 * static_cast<double>(info.memory_clock_khz) * info.memory_bus_bits / 8 : 0;
}

/// Adds the facts of the table to a device of which only the name or architecture is known, as in recordings.
DeviceInfo completed(const DeviceInfo& reported) {
  if (reported.compute_units > 0) return reported;
  const bool no_arch = reported.arch.empty() || reported.arch == "unknown";
  std::optional<DeviceInfo> known = product_of_device(reported.name);
  if (!no_arch && (!known || base_arch(reported.arch) != known->arch)) known = known_device(reported.arch);
  if (!known) return reported;
  known->backend = reported.backend;
  if (!reported.name.empty()) known->name = reported.name;
  if (!no_arch) known->arch = reported.arch;
  return *known;
}

}  // namespace

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

bool DeviceModel::has_matrix(std::string_view type) const {
  return std::any_of(matrix_instructions.begin(), matrix_instructions.end(),
                     [&](const MatrixInstruction& instruction) { return instruction.type == type; });
}

DeviceModel device_model(const DeviceInfo& reported) {
  const DeviceInfo info = completed(reported);
  const std::string_view arch = base_arch(info.arch);
  DeviceModel model;
  model.info = info;
  const Unit* const unit =
      std::find_if(std::begin(units), std::end(units), [&](const Unit& u) { return arch == u.arch; });
  if (unit == std::end(units) && (arch.empty() || arch == "unknown"))
    throw Error(ErrorKind::invalid_argument,
                "the cost model knows no device '" + info.name + "', and its architecture is unknown");
  if (unit == std::end(units)) {
    std::vector<std::string> known;
    for (const Unit& u : units) known.emplace_back(u.arch);
    throw Error(ErrorKind::invalid_argument, "the cost model knows no architecture '" + info.arch + "'" +
                                                 base::did_you_mean(arch, known) + "; `--arch` takes a GPU's, like " +
                                                 known.front() + " or gfx942");
  }
  model.blocks_per_compute_unit = unit->blocks;
  model.registers_per_thread = unit->registers_per_thread;
  model.register_granule = unit->register_granule;
  model.schedulers = unit->schedulers;
  model.shared_bytes_per_clock = unit->shared_bytes_per_clock;
  model.cache_bytes_per_clock = unit->cache_bytes_per_clock;
  model.fma_per_clock = unit->fma_per_clock;
  model.dependent_cycles = unit->dependent_cycles;
  for (const Matrix& matrix : matrices)
    if (arch == matrix.arch) model.matrix_instructions.push_back({matrix.type, matrix.m, matrix.n, matrix.k});

  model.clock_mhz = static_cast<double>(info.clock_khz) * 1e-3;
  model.memory_GB_s = reported_bandwidth(info);
  if (const Product* const product = units_of(info, arch)) {
    double scale = 1;
    if (info.compute_units > 0) scale *= static_cast<double>(info.compute_units) / product->compute_units;
    if (model.clock_mhz > 0 && product->clock_mhz > 0) scale *= model.clock_mhz / product->clock_mhz;
    for (std::size_t i = 0; i < rate_count; ++i) model.peak_tflops[i] = product->tflops[i] * scale;
    if (model.clock_mhz <= 0) model.clock_mhz = product->clock_mhz;
    if (model.memory_GB_s <= 0) model.memory_GB_s = product->memory_GB_s;
    if (model.info.l2_bytes <= 0) model.info.l2_bytes = product->l2_kib * 1024;
  }
  return model;
}

}  // namespace xtune::device

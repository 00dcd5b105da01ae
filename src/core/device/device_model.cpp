// Device models, from known_devices.def and the facts that a device reports.
#include "core/device/device_model.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::device {
namespace {

struct Unit {
  const char* arch;
  int blocks, registers_per_thread, register_granule, schedulers;
  int shared_bytes_per_clock, cache_bytes_per_clock, fma_per_clock, dependent_cycles;
};

struct ProductUnits {
  const char* name;
  const char* arch;
  int compute_units;
  double clock_mhz, memory_GB_s;
  std::int64_t l2_kib;
  double tflops[rate_count];
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
constexpr ProductUnits product_units[] = {
#define PRODUCT(name, arch, units, clock_mhz, memory_GB_s, l2_kib, ...) \
  {name, arch, units, clock_mhz, memory_GB_s, l2_kib, {__VA_ARGS__}},
#include "core/device/known_devices.def"
};
constexpr Matrix matrices[] = {
#define MATRIX(...) {__VA_ARGS__},
#include "core/device/known_devices.def"
};

/// The product with exactly this name, else the one that represents the architecture.
const ProductUnits* units_of(const DeviceInfo& info, std::string_view arch) {
  if (arch == "gfx940" || arch == "gfx941") arch = "gfx942";  // they have no products
  const ProductUnits* representative = nullptr;
  for (const ProductUnits& product : product_units) {
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
  if (const ProductUnits* const product = units_of(info, arch)) {
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

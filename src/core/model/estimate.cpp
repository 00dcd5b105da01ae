// How long a device takes for work: residency, the busiest of its parts, latency, and the blocks of the last wave.
//
// A roofline per compute unit. Templates count the needs of one block (work.hpp): arithmetic, instructions, cycles of
// the ports of shared memory and cache, bytes from L2 and memory. The device's limits determine how many blocks are
// resident. The busiest part determines the time, and memory is one more part for the whole launch. The model ranks
// configurations and removes none that the device allows, so relative errors matter and absolute ones do not.
//
// Parts overlap, but not perfectly: overlapped(p, ...) is a p-norm, between the maximum (large p) and the sum (p = 1).
// Power 2 is for parts that compete for the same warps, 4 for a part that hides the other almost entirely. A block's
// own chain of dependent work is a lower bound of the time when too few blocks are resident to hide it. Full bandwidth
// needs enough bytes in flight (Little's law).
//
// Latencies are those of the paper cited in work.hpp, the same for every device. The powers and the share of the L2
// port (32 bytes per clock) were chosen with the recording of gemm on one GPU. docs/candidates.md states the quality of
// the ranking on the other recordings, which were not used to choose constants.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "core/model/work.hpp"

namespace xtune::model {
namespace {

/// Parts that overlap, but not perfectly: between their maximum (high power) and their sum (1).
template <class... Parts>
double overlapped(double power, Parts... parts) {
  return std::pow((std::pow(static_cast<double>(parts), power) + ...), 1 / power);
}

double round_up(double value, double granule) { return granule > 1 ? std::ceil(value / granule) * granule : value; }

struct Residency {
  double blocks = 0, registers = 0, spilled = 0;
  const char* limit = "";
};

double warps_of(const Work& work, const device::DeviceModel& device) {
  return std::ceil(work.threads / std::max(1, device.info.warp_size));
}

Residency residency(const Work& work, const device::DeviceModel& device) {
  const device::DeviceInfo& info = device.info;
  const double threads = warps_of(work, device) * std::max(1, info.warp_size);
  Residency result;
  double most = device.registers_per_thread > 0 ? device.registers_per_thread : work.registers;
  // A block that can start gets its share; the compiler spills the rest.
  const double granule = std::max(1, device.register_granule);
  const double file = static_cast<double>(info.registers_per_compute_unit);
  if (file > 0)
    most = std::min(most, std::floor(file / (threads * std::max(1.0, work.blocks_at_most)) / granule) * granule);
  result.spilled = std::max(0.0, work.registers - most);
  result.registers = std::max(granule, round_up(std::min(work.registers, most), granule));

  result.blocks = 1e9;
  const auto bound = [&](double capacity, double each, const char* name) {
    if (capacity <= 0 || each <= 0) return;
    if (const double blocks = std::floor(capacity / each); blocks < result.blocks)
      result.blocks = blocks, result.limit = name;
  };
  bound(info.max_threads_per_compute_unit, threads, "threads");
  bound(file, result.registers * threads, "registers");
  // From compute capability 8.0 on the driver reserves 1 KiB of shared memory for each block.
  const bool reserves = info.vendor == "nvidia" && info.shared_per_compute_unit > info.shared_per_block_optin;
  bound(static_cast<double>(info.shared_per_compute_unit), work.shared_bytes + (reserves ? 1024 : 0), "shared memory");
  bound(device.blocks_per_compute_unit, 1, "the blocks of a compute unit");
  return result;
}

struct MatrixType {
  DType type;
  device::Rate rate;
  const char* name;
};
constexpr MatrixType matrix_types[] = {
    {DType::f64, device::Rate::matrix_f64, "f64"},  {DType::f32, device::Rate::matrix_tf32, "tf32"},
    {DType::f16, device::Rate::matrix_f16, "f16"},  {DType::bf16, device::Rate::matrix_bf16, "bf16"},
    {DType::f8e4m3, device::Rate::matrix_f8, "f8"}, {DType::f8e5m2, device::Rate::matrix_f8, "f8"},
    {DType::i8, device::Rate::matrix_i8, "i8"},     {DType::u8, device::Rate::matrix_i8, "i8"}};

MatrixType matrix_type_of(DType type) noexcept {
  for (const MatrixType& known : matrix_types)
    if (known.type == type) return known;
  return {type, device::Rate::f32, ""};
}

}  // namespace

device::Rate matrix_rate(DType type, const device::DeviceModel& device) noexcept {
  const device::Rate rate = matrix_type_of(type).rate;
  const bool has_f32 = device.peak(device::Rate::matrix_f32) > 0;
  return rate == device::Rate::matrix_tf32 && has_f32 ? device::Rate::matrix_f32 : rate;
}

const char* matrix_type(DType type) noexcept { return matrix_type_of(type).name; }

Throughput::Throughput(const device::DeviceModel& device_)
    : device(device_),
      clock_GHz(device_.clock_mhz * 1e-3),
      units(std::max(1, device_.info.compute_units)),
      warp(std::max(1, device_.info.warp_size)),
      schedulers(device_.schedulers > 0 ? device_.schedulers : 4),
      shared_bytes(device_.shared_bytes_per_clock > 0 ? device_.shared_bytes_per_clock : 128),
      cache_bytes(device_.cache_bytes_per_clock > 0 ? device_.cache_bytes_per_clock : 128),
      // Half of the 64 bytes per clock of a compute unit's port to L2: L2 cannot serve all of them faster at once.
      l2_bytes(32) {
  if (clock_GHz <= 0 && device.fma_per_clock > 0)  // a data sheet without a clock gives it through its f32 rate
    clock_GHz = device.peak(device::Rate::f32) * 1e3 / (units * 2 * device.fma_per_clock);
  if (clock_GHz <= 0) clock_GHz = 1;
}

double Throughput::flops_per_cycle(device::Rate rate) const {
  const double vector = 2.0 * (device.fma_per_clock > 0 ? device.fma_per_clock : 64);
  if (rate == device::Rate::f32) return vector;
  const double peak = device.peak(rate) * 1e3 / (units * clock_GHz);
  // Not in the data sheet: f64 at the rate of chips that are not made for it, matrices at the rate of the vector units.
  return peak > 0 ? peak : rate == device::Rate::f64 ? vector / 32 : vector;
}

std::optional<std::string> misfit(const Work& work, const device::DeviceModel& device) {
  const device::DeviceInfo& info = device.info;
  if (!(work.memory_bytes >= 0 && work.flops >= 0 && work.serial_cycles >= 0)) return "sizes that make no sense";
  if (!(work.threads >= 1 && work.blocks >= 1))
    return "its fields do not go together: no block has threads and something to do for each";
  if (work.threads > info.max_threads_per_block)
    return fmt::format("{:g} threads a block, the device allows {}", work.threads, info.max_threads_per_block);
  const auto shared = static_cast<double>(std::max(info.shared_per_block_optin, info.shared_per_block));
  if (shared > 0 && work.shared_bytes > shared)
    return fmt::format("{:g} bytes of shared memory a block, the device allows {:g}", work.shared_bytes, shared);
  const Residency resident = residency(work, device);
  if (resident.blocks < 1) return fmt::format("{}: not one block fits a compute unit", resident.limit);
  return std::nullopt;
}

Estimate estimate(const Work& work, const device::DeviceModel& device) {
  const Throughput unit(device);
  const Residency resident = residency(work, device);
  Estimate result;
  result.residency = resident.limit;
  result.registers = resident.registers;
  result.spilled = resident.spilled;
  result.memory_bytes = work.memory_bytes;
  const double warps = warps_of(work, device);
  const double blocks = resident.blocks;
  result.blocks_per_unit = static_cast<int>(blocks);
  result.occupancy = blocks * warps * unit.warp / std::max(1, device.info.max_threads_per_compute_unit);
  result.waves = work.blocks / (unit.units * blocks);

  // A spilled register is written and read again through the first-level cache at each use.
  const double spill_cycles = resident.spilled * work.spill_uses * 2 * warps * unit.cache_register_cycles();
  // Schedulers issue one instruction a clock; on the vector units the arithmetic takes its share of them.
  const double issued = work.instructions + (work.rate == device::Rate::f32 ? work.flops / (2 * unit.warp) : 0);
  const double compute =
      std::max(work.flops / unit.flops_per_cycle(work.rate), issued * unit.issue_cycles() / unit.schedulers);
  const double cache = work.cache_cycles + spill_cycles;
  const double l2 = work.l2_bytes / unit.l2_bytes;
  // Data from shared memory and cache reaches the registers through one port, so those two add up.
  const double busy = overlapped(2, compute, work.shared_cycles + cache, l2);
  const double alone = work.serial_cycles + spill_cycles / std::max(1.0, warps);
  // The compute unit with most blocks ends last. Its resident blocks take turns, and none ends before its own chain of
  // dependent work.
  const double each = std::ceil(work.blocks / unit.units);
  const double cycles = overlapped(4, each * busy, std::ceil(each / blocks) * alone);
  const double to_ms = 1e-6 / unit.clock_GHz;

  if (device.memory_GB_s > 0) {
    // Little's law: full bandwidth needs as many bytes in flight as are delivered during one memory access.
    const double resident_blocks = std::min(work.blocks, blocks * unit.units);
    const double needed = device.memory_GB_s * memory_latency / unit.clock_GHz;
    const double part = work.bytes_in_flight > 0 ? resident_blocks * work.bytes_in_flight / needed : 1e9;
    const double reached = part / overlapped(4, part, 1.0);
    result.memory_ms = work.memory_bytes / (device.memory_GB_s * reached) * 1e-6;
  }
  result.time_ms = overlapped(2, cycles * to_ms, result.memory_ms) + work.extra_us * 1e-3;

  const double share = work.blocks / unit.units * to_ms;
  result.compute_ms = compute * share;
  result.shared_ms = work.shared_cycles * share;
  result.cache_ms = cache * share;
  result.l2_ms = l2 * share;
  result.latency_ms = alone * share / blocks;
  double largest = -1;
  const auto bounds = [&](double ms, const char* name) {
    if (ms > largest) largest = ms, result.bound = name;
  };
  bounds(result.compute_ms, "compute");
  bounds(result.shared_ms, "shared memory");
  bounds(result.cache_ms, "cache");
  bounds(result.l2_ms, "L2");
  bounds(result.memory_ms, "memory");
  bounds(result.latency_ms, "latency");
  return result;
}

std::string describe(const Estimate& estimate) {
  std::string text = fmt::format("{} bound; {} allow{} {} ({:.0f} % of the threads), {:.2f} waves, {} of traffic",
                                 estimate.bound, estimate.residency, estimate.residency == "shared memory" ? "s" : "",
                                 base::counted(static_cast<std::uint64_t>(estimate.blocks_per_unit), "block"),
                                 100 * estimate.occupancy, estimate.waves,
                                 base::human_bytes(static_cast<std::uint64_t>(
                                     estimate.memory_bytes >= 0 ? std::min(estimate.memory_bytes, 9e18) : 0)));
  if (estimate.spilled > 0) text += fmt::format(", {:.0f} registers spilled", estimate.spilled);
  const auto part = [&](const char* name, double ms) {
    if (ms >= 0.05 * estimate.time_ms) text += fmt::format(", {} {}", name, base::human_time_ms(ms));
  };
  part("compute", estimate.compute_ms);
  part("shared memory", estimate.shared_ms);
  part("cache", estimate.cache_ms);
  part("L2", estimate.l2_ms);
  part("memory", estimate.memory_ms);
  part("latency", estimate.latency_ms);
  return text;
}

}  // namespace xtune::model

// Template histogram: keys are counted in shared memory, and the counts of all blocks are added.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {
namespace histogram {
namespace {

#define FIELDS(F)                                                                          \
  F(n, problem, 1, "keys")                                                                 \
  F(bins, problem, 1, "bins")                                                              \
  F(threads, required, 1, "threads of a block")                                            \
  F(vector, optional, 1, "keys that an instruction reads; 16 bytes")                       \
  F(unroll, optional, 1, "vectors of a thread that are under way at once; 1")              \
  F(copies, optional, 1, "counters for each bin, which neighbouring threads share out; 1") \
  F(parts, optional, 1, "blocks that read the same keys, each for a part of the bins; 1")  \
  F(blocks, optional, 1, "blocks of the grid; enough for all keys")                        \
  F(distinct, optional, 1, "bins that most keys fall into: few of them make threads collide; all")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

/// Turns that a warp's additions take: threads collide in a bank, or want the same counter.
double turns_of(double lanes, double counters, double same) {
  // Of as many random accesses as banks, log2 of them meet in the busiest bank, by and large; a copy is a set of banks.
  const double sharing = std::max(1.0, lanes / std::max(1.0, same));
  const double in_bank = 1 + 0.5 * std::log2(std::max(1.0, lanes / std::max(1.0, counters)));
  return std::max(in_bank, sharing / std::max(1.0, counters));
}

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  Work result;
  const double bytes = static_cast<double>(size_of(type)), keys = values[n];
  const double wide = value_or(values, vector, std::max(1.0, 16 / bytes)), ahead = value_or(values, unroll, 1);
  const double each_bin = value_or(values, copies, 1), shares = value_or(values, parts, 1);
  result.threads = values[threads];
  if (!(keys >= 1 && values[bins] >= 1 && result.threads >= 1)) return result;
  const double at_once = result.threads * wide;
  result.blocks = value_or(values, blocks, shares * ceil_div(keys, at_once * ahead));
  if (!(result.blocks >= 1)) return Work{};
  const double own_bins = ceil_div(values[bins], shares), counters = own_bins * each_bin;
  const double each = ceil_div(keys * shares, result.blocks), trips = ceil_div(each, at_once * ahead);
  const double warps = std::ceil(result.threads / unit.warp);
  result.shared_bytes = 4 * counters;
  result.registers = 20 + ahead * wide * bytes / 4;
  const double reads = ceil_div(each, wide * unit.warp);
  // Of a part's keys, only its share is counted.
  const double additions = each / unit.warp / shares, checks = each / unit.warp;
  const double clearing = counters / unit.warp;
  result.shared_cycles = 2 * additions * turns_of(unit.warp, each_bin, value_or(values, distinct, values[bins])) +
                         clearing * 2 * unit.shared_register_cycles();
  result.instructions = 2 * reads + 3 * checks + 2 * clearing;
  result.cache_cycles = reads * std::max(1.0, std::min(wide * bytes, 16.0) * unit.warp / unit.cache_bytes);
  // An addition to the result moves a sector.
  result.l2_bytes = each * bytes + own_bins * 32;
  result.memory_bytes = keys * bytes + values[bins] * 4;
  result.bytes_in_flight = std::min(each, at_once * ahead) * bytes / shares;
  result.spill_uses = trips;
  const double clear_and_add = 2 * ceil_div(own_bins * each_bin, result.threads) * shared_latency;
  result.serial_cycles = trips * (memory_latency + ahead * wide * shared_latency / 4) + clear_and_add +
                         2 * barrier_cycles + memory_latency + additions / warps;
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const double bytes = static_cast<double>(size_of(type));
  const Work asked = work(values, device, type);
  const double shares = value_or(values, parts, 1), own_bins = ceil_div(values[bins], shares);
  const double each = values[n] * shares / std::max(1.0, asked.blocks);
  return {{{each, each, bytes, false}, {own_bins, own_bins, 4, true}}, own_bins, 32, asked.blocks, asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel& device, DType) {
  std::vector<long long> grids;
  for (const long long each : {1, 2, 4, 8}) grids.push_back(each * std::max(1, device.info.compute_units));
  return {{"threads", {128, 256, 512, 1024}}, {"unroll", {1, 2, 4, 8}}, {"copies", {1, 2, 8, 32}}, {"blocks", grids}};
}

}  // namespace
}  // namespace histogram

CandidateTemplate histogram_template() {
  using namespace histogram;
  return {"histogram",
          "keys are counted in bins",
          {FIELDS(XTUNE_FIELD_ROW)},
          {threads, unroll, copies},
          {parts},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace xtune::model

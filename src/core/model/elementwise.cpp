// Templates elementwise, reduction and histogram: what reads each element once.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {

namespace elementwise {
namespace {

#define FIELDS(F)                                                                                                    \
  F(n, problem, 1, "elements")                                                                                       \
  F(threads, required, 1, "threads of a block")                                                                      \
  F(vector, optional, 1, "elements that an instruction moves; 1")                                                    \
  F(unroll, optional, 1, "vectors of a thread that are under way at once; 1")                                        \
  F(items, optional, 1, "vectors that a thread moves in all; as unroll, or as the grid asks")                        \
  F(blocks, optional, 1, "blocks of the grid; enough for all elements")                                              \
  F(run, optional, 1, "elements side by side that a row of threads reads; the block's")                              \
  F(write_run, optional, 1, "the same of what it writes; as run")                                                    \
  F(shared_bytes, optional, 0, "shared memory of a block; 0")                                                        \
  F(shared_stride, optional, 0, "elements from row to row of a tile in shared memory that is read by columns; none") \
  F(bytes_read, optional, 0, "bytes read for an element; of its type")                                               \
  F(bytes_written, optional, 0, "bytes written for an element; of its type")                                         \
  F(flops, optional, 0, "operations for an element; 1")                                                              \
  F(registers, optional, 1, "registers of a thread; from runs in progress")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  Work result;
  const double bytes = static_cast<double>(size_of(type)), elements = values[n];
  const double wide = std::max(1.0, value_or(values, vector, 1)), ahead = std::max(1.0, value_or(values, unroll, 1));
  result.threads = values[threads];
  if (!(elements >= 1 && result.threads >= 1)) return result;
  const double at_once = result.threads * wide;
  result.blocks = value_or(values, blocks, ceil_div(elements, at_once * value_or(values, items, ahead)));
  if (!(result.blocks >= 1)) return Work{};
  const double each = ceil_div(elements, result.blocks), passes = ceil_div(each, at_once);
  const double in = value_or(values, bytes_read, bytes), out = value_or(values, bytes_written, bytes);
  const double side = value_or(values, run, at_once);
  const double read = in * sector_waste(side * bytes),
               written = out * sector_waste(value_or(values, write_run, side) * bytes);
  result.shared_bytes = std::max(0.0, value_or(values, shared_bytes, 0));
  result.registers = value_or(values, registers, 16 + ahead * wide * std::max(bytes, in) / 4 + wide);
  result.flops = value_or(values, flops, 1) * each;
  if (type == DType::f64) result.rate = device::Rate::f64;
  result.l2_bytes = each * (read + written);
  result.memory_bytes = elements * (read + written);
  result.bytes_in_flight = at_once * std::min(ahead, passes) * in;
  const double instruction = std::clamp(wide * bytes, 1.0, 16.0);  // bytes per thread
  const double warps = std::ceil(result.threads / unit.warp);
  const double instructions = passes * warps * std::max(1.0, wide * bytes / 16);
  // An instruction takes a cycle for any number of bytes.
  result.instructions = 6 * instructions;
  result.spill_uses = 1;
  result.cache_cycles =
      instructions * std::max(1.0, instruction * unit.warp / unit.cache_bytes) * (in + out) / std::max(1.0, bytes);
  if (result.shared_bytes > 0) {
    const auto stride = static_cast<long long>(std::clamp(value_or(values, shared_stride, 1) * bytes / 4, 1.0, 1e9));
    const LaneLayout columns{static_cast<int>(unit.warp), static_cast<int>(unit.warp), stride, 1, 1};
    const double single = each * bytes / 4 / unit.warp;
    result.shared_cycles = single * (1 + bank_turns(columns, static_cast<int>(unit.shared_bytes / 4)));
  }
  const double trips = ceil_div(passes, ahead);
  result.serial_cycles = trips * (memory_latency + ahead * wide * 4) +
                         (result.shared_bytes > 0 ? barrier_cycles + 2 * shared_latency : 0) + 100;
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const double bytes = static_cast<double>(size_of(type));
  const Work asked = work(values, device, type);
  const double tile =
      values[threads] * std::max(1.0, value_or(values, vector, 1)) * std::max(1.0, value_or(values, unroll, 1));
  const double side = value_or(values, run, tile);
  return {{{tile, side, bytes, false}, {tile, value_or(values, write_run, side), bytes, true}},
          tile,
          8 * bytes,
          ceil_div(values[n], tile),
          asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel&, DType type) {
  return {{"threads", {64, 128, 256, 512, 1024}}, {"vector", vector_widths(type)}, {"unroll", {1, 2, 4, 8}}};
}

}  // namespace

CandidateTemplate description() {
  return {"elementwise",
          "every output depends on few inputs: copies, maps, transposes",
          {FIELDS(XTUNE_FIELD_ROW)},
          {threads, vector},
          {},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace elementwise

// Template reduction: many elements become one, or one for each of several outputs.

namespace reduction {
namespace {

#define FIELDS(F)                                                                                    \
  F(n, problem, 1, "elements of a sum")                                                              \
  F(threads, required, 1, "threads of a block")                                                      \
  F(outputs, optional, 1, "sums; 1")                                                                 \
  F(vector, optional, 1, "elements that an instruction reads; 1")                                    \
  F(unroll, optional, 1, "vectors of a thread that are under way at once; 1")                        \
  F(blocks, optional, 1, "blocks of the grid; enough for all elements")                              \
  F(shuffle, optional, 0, "1: warps add up by exchanging registers, not through shared memory; 1")   \
  F(atomic, optional, 0, "1: blocks add to the sum by atomics; 0: a last phase reads their sums; 1") \
  F(registers, optional, 1, "registers of a thread; from runs in progress")                          \
  F(inner, optional, 1, "elements between two terms of a sum: the axes after the summed one; 1")     \
  F(sums, optional, 1, "sums that a block computes at a time, side by side; 1")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  Work result;
  const double bytes = static_cast<double>(size_of(type)), results = std::max(1.0, value_or(values, outputs, 1));
  const double elements = values[n] * results;
  const double wide = std::max(1.0, value_or(values, vector, 1)), ahead = std::max(1.0, value_or(values, unroll, 1));
  result.threads = values[threads];
  if (!(elements >= 1 && result.threads >= 1)) return result;
  const double at_once = result.threads * wide;
  result.blocks = value_or(values, blocks,
                           std::max(ceil_div(results, value_or(values, sums, 1)), ceil_div(elements, at_once * ahead)));
  if (!(result.blocks >= 1)) return Work{};
  const double each = ceil_div(elements, result.blocks), trips = ceil_div(each, at_once * ahead);
  const double warps = std::ceil(result.threads / unit.warp);
  const bool exchanges = value_or(values, shuffle, 1) != 0, adds = value_or(values, atomic, 1) != 0;
  result.shared_bytes = (exchanges ? warps : result.threads) * std::max(4.0, bytes);
  result.registers = value_or(values, registers, 20 + ahead * wide * bytes / 4 + wide);
  result.flops = 2 * each;  // an addition takes as long as a multiply-add
  if (type == DType::f64) result.rate = device::Rate::f64;
  // Terms of one sum are adjacent only along the last axis; otherwise sums are.
  const double side_by_side = value_or(values, sums, 1);
  const double run = value_or(values, inner, 1) > 1 ? side_by_side : std::max(1.0, at_once / side_by_side);
  const double waste = sector_waste(std::min(run, value_or(values, inner, 1) > 1 ? values[inner] : values[n]) * bytes);
  result.l2_bytes = each * bytes * waste;
  result.memory_bytes = elements * bytes * waste + result.blocks * (adds ? 0 : 2 * bytes);
  result.bytes_in_flight = std::min(each, at_once * ahead) * bytes;
  const double instructions = trips * ahead * warps * std::max(1.0, wide * bytes / 16);
  result.spill_uses = trips;
  result.instructions = 3 * instructions;
  result.cache_cycles = instructions * std::max(1.0, std::min(wide * bytes, 16.0) * unit.warp / unit.cache_bytes);
  const double levels = std::log2(std::max(2.0, result.threads));
  const double tree = exchanges ? levels * shared_latency + barrier_cycles : levels * (shared_latency + barrier_cycles);
  result.shared_cycles = warps * levels * (exchanges ? 1 : 2);
  const double chain = ahead * wide * std::max(1, device.dependent_cycles);
  result.serial_cycles = trips * (memory_latency + chain) + tree + memory_latency;
  // All blocks' atomics of one sum go to one place of L2, a few clocks each; the last phase is another access to
  // memory.
  const double last =
      adds ? 4 * result.blocks / results
           : 2 * memory_latency + ceil_div(result.blocks / results, result.threads) * memory_latency + tree;
  result.extra_us = last / unit.clock_GHz * 1e-3;
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const double bytes = static_cast<double>(size_of(type));
  const Work asked = work(values, device, type);
  const double each = values[n] * std::max(1.0, value_or(values, outputs, 1)) / std::max(1.0, asked.blocks);
  return {{{each, each, bytes, false}, {1, 1, bytes, true}}, 1, 8 * bytes, asked.blocks, asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel& device, DType type) {
  std::vector<long long> grids;
  for (const long long each : {1, 2, 4, 8, 16}) grids.push_back(each * std::max(1, device.info.compute_units));
  return {
      {"threads", {128, 256, 512, 1024}}, {"vector", vector_widths(type)}, {"unroll", {1, 2, 4, 8}}, {"blocks", grids}};
}

}  // namespace

CandidateTemplate description() {
  return {"reduction",
          "many elements become one, or one for each of several outputs",
          {FIELDS(XTUNE_FIELD_ROW)},
          {threads, vector, unroll, sums},
          {atomic},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace reduction

// Template histogram: keys are counted in shared memory, and the counts of all blocks are added.

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

CandidateTemplate description() {
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

}  // namespace histogram

}  // namespace xtune::model

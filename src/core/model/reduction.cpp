// Template reduction: many elements become one, or one for each of several outputs.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {
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
  const auto widest = static_cast<long long>(std::max<std::size_t>(1, 16 / size_of(type)));
  std::vector<long long> vectors, grids;
  for (long long wide = 1; wide <= widest; wide *= 2) vectors.push_back(wide);
  for (const long long each : {1, 2, 4, 8, 16}) grids.push_back(each * std::max(1, device.info.compute_units));
  return {{"threads", {128, 256, 512, 1024}}, {"vector", vectors}, {"unroll", {1, 2, 4, 8}}, {"blocks", grids}};
}

}  // namespace
}  // namespace reduction

CandidateTemplate reduction_template() {
  using namespace reduction;
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

}  // namespace xtune::model

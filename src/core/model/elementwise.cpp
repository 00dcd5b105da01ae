// Template elementwise: every output depends on few inputs; copies, maps, transposes.
#include <algorithm>

#include "core/model/banks.hpp"
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
  const auto widest = static_cast<long long>(16 / size_of(type));
  std::vector<long long> vectors;
  for (long long wide = 1; wide <= widest; wide *= 2) vectors.push_back(wide);
  return {{"threads", {64, 128, 256, 512, 1024}}, {"vector", vectors}, {"unroll", {1, 2, 4, 8}}};
}

}  // namespace
}  // namespace elementwise

CandidateTemplate elementwise_template() {
  using namespace elementwise;
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

}  // namespace xtune::model

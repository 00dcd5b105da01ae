// Template gemv: y = A * x, bound by reading A once.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {
namespace gemv {
namespace {

#define FIELDS(F)                                                                                    \
  F(m, problem, 1, "rows of A")                                                                      \
  F(k, problem, 1, "columns of A, the length of the sums")                                           \
  F(threads, required, 1, "threads of a block")                                                      \
  F(rows, optional, 1, "rows of A that a block takes; 1")                                            \
  F(threads_per_row, optional, 1, "threads that share a row; all of the block, divided by its rows") \
  F(vector, optional, 1, "elements that an instruction reads; 16 bytes")                             \
  F(unroll, optional, 1, "vectors of a thread that are under way at once; 1")                        \
  F(split_k, optional, 1, "blocks that share a row's sum; 1")                                        \
  F(shared_x, optional, 0, "1: x goes through shared memory; 0")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  Work result;
  const double bytes = static_cast<double>(size_of(type)), height = values[m], width = values[k];
  result.threads = values[threads];
  const double tile = std::max(1.0, value_or(values, rows, 1)), splits = std::max(1.0, value_or(values, split_k, 1));
  const double across = std::max(1.0, value_or(values, threads_per_row, result.threads / tile));
  const double wide = std::max(1.0, value_or(values, vector, 16 / bytes)),
               ahead = std::max(1.0, value_or(values, unroll, 1));
  if (!(height >= 1 && width >= 1 && result.threads >= 1)) return result;
  result.blocks = ceil_div(height, tile) * splits;
  const double rows_at_once = std::max(1.0, std::floor(result.threads / across));
  const double trips = ceil_div(tile, rows_at_once) * ceil_div(ceil_div(width, splits), across * wide * ahead);
  const double length = ceil_div(width, splits), warps = std::ceil(result.threads / unit.warp);
  const bool staged = value_or(values, shared_x, 0) != 0;
  result.shared_bytes = (staged ? length * bytes : 0) + tile * warps * 4;
  result.registers = 24 + 2 * ahead * wide * bytes / 4 + tile;
  result.flops = 2 * tile * length;
  // Adjacent threads read this much of a row; less than a sector wastes the rest of it.
  const double side = across * wide * bytes, waste = side >= 32 ? 1 : 32 / side;
  result.l2_bytes = tile * length * bytes * waste + length * bytes;
  result.memory_bytes = height * width * bytes * waste + (width + height * splits) * bytes;
  result.bytes_in_flight = std::min(tile * length, result.threads * wide * ahead) * bytes;
  const double instructions = trips * ahead * warps * std::max(1.0, wide * bytes / 16);
  const double turns = instructions * std::max(1.0, std::min(wide * bytes, 16.0) * unit.warp / unit.cache_bytes);
  result.instructions = 4 * instructions;
  result.spill_uses = 1;
  result.cache_cycles = turns * (staged ? 1 : 2);
  result.shared_cycles = staged ? turns : 0;
  const double levels = std::log2(std::max(2.0, across));
  result.serial_cycles = trips * (memory_latency + ahead * wide * std::max(1, device.dependent_cycles)) +
                         levels * shared_latency + (staged ? memory_latency + barrier_cycles : 0) + 100;
  if (splits > 1) result.extra_us = 2;  // atomics, or a second launch
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const double bytes = static_cast<double>(size_of(type)), tile = std::max(1.0, value_or(values, rows, 1));
  const Work asked = work(values, device, type);
  return {
      {{tile * values[k], values[k], bytes, false}, {values[k], values[k], bytes, false}, {tile, tile, bytes, true}},
      tile,
      8 * bytes,
      ceil_div(values[m], tile),
      asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel&, DType type) {
  const auto widest = static_cast<long long>(std::max<std::size_t>(1, 16 / size_of(type)));
  return {{"threads", {64, 128, 256, 512}},
          {"rows", {1, 2, 4, 8}},
          {"vector", {1, widest}},
          {"unroll", {1, 2, 4}},
          {"split_k", {1, 2, 4, 8}}};
}

}  // namespace
}  // namespace gemv

CandidateTemplate gemv_template() {
  using namespace gemv;
  return {"gemv",
          "y = A * x, bound by reading A once",
          {FIELDS(XTUNE_FIELD_ROW)},
          {threads, rows, split_k},
          {split_k},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace xtune::model

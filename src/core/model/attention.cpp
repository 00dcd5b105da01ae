// Template attention: softmax(Q * K^T) * V without storing the scores.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {
namespace attention {
namespace {

#define FIELDS(F)                                                                            \
  F(seq_q, problem, 1, "rows of Q of one head")                                              \
  F(seq_k, problem, 1, "rows of K and V of one head")                                        \
  F(head_dim, problem, 1, "columns of Q, K and V")                                           \
  F(heads, problem, 1, "heads, of all sequences of the batch together")                      \
  F(block_m, required, 1, "rows of Q that a block takes")                                    \
  F(block_n, required, 1, "rows of K and V that a step takes")                               \
  F(threads, optional, 1, "threads of a block; 128")                                         \
  F(stages, optional, 1, "tiles of K and V under way; 2")                                    \
  F(tensor, optional, 0, "1: matrix instructions; 1 where the device has them for the type") \
  F(causal, optional, 0, "1: a row sees no later ones; 0")                                   \
  F(kv_group, optional, 1, "heads of Q that share one of K and V; 1")                        \
  F(blocks_per_unit, optional, 0, "blocks that registers are rationed for; none")            \
  F(shared_bytes, optional, 0, "shared memory of a block; from tiles and stages")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  Work result;
  const double bytes = static_cast<double>(size_of(type)), deep = values[head_dim], count = values[heads];
  const double bm = values[block_m], bn = values[block_n];
  result.threads = value_or(values, threads, 128);
  for (const double size : {values[seq_q], values[seq_k], deep, count, bm, bn, result.threads})
    if (!(size >= 1 && size < 1e12)) return Work{};
  const double pipe = std::max(1.0, value_or(values, stages, 2)), group = std::max(1.0, value_or(values, kv_group, 1));
  const bool matrix = value_or(values, tensor, device.has_matrix(matrix_type(type)) && type != DType::f32 ? 1 : 0) != 0;
  const double part = value_or(values, causal, 0) != 0 ? 0.5 : 1;  // fraction of the scores that is computed
  const double warps = std::ceil(result.threads / unit.warp);
  const double steps = std::max(1.0, std::ceil(part * ceil_div(values[seq_k], bn)));
  result.blocks = ceil_div(values[seq_q], bm) * count;
  result.shared_bytes = value_or(values, shared_bytes, (bm * deep + pipe * 2 * bn * deep) * bytes);
  result.blocks_at_most = value_or(values, blocks_per_unit, 0);
  // Every warp keeps its rows of the output and of the scores.
  result.registers = 40 + (bm * deep + bm * bn * 1.5) / result.threads;
  result.spill_uses = steps;
  if (matrix) result.rate = matrix_rate(type, device);
  const double products = 4 * bm * bn * deep;
  // An exponential takes up to a quarter of a lane's turn, on the vector units, in parallel with the matrix units.
  const double exponentials = bm * bn * 8 / (unit.flops_per_cycle(device::Rate::f32) / 2);
  result.flops = steps * (products + exponentials * unit.flops_per_cycle(result.rate));
  const double rows_each = std::max(1.0, bm / warps);
  const double fragments = matrix ? warps * 2 * bn * deep * bytes  // each warp reads all of K and V
                                  : products / 2 * 4 * (1 / std::min(8.0, rows_each) + 1.0 / 8);
  result.shared_cycles = steps * (fragments + 2 * bn * deep * bytes) / unit.shared_bytes;
  result.cache_cycles = steps * 2 * bn * deep * bytes / unit.cache_bytes;
  result.l2_bytes = (bm * 2 + steps * bn * 2) * deep * bytes;
  const double kv = 2 * values[seq_k] * deep * bytes * count / group;
  // K and V of a head come from memory once if the heads that run at the same time fit in L2.
  const double at_once = std::min(result.blocks, 2 * unit.units);
  const double heads_at_once = std::max(1.0, at_once / ceil_div(values[seq_q], bm));
  const bool kept = heads_at_once * 2 * values[seq_k] * deep * bytes < static_cast<double>(device.info.l2_bytes);
  result.memory_bytes = 2 * values[seq_q] * deep * bytes * count +
                        kv * (kept ? 1 : std::max(1.0, ceil_div(values[seq_q], bm) / (2 * unit.units)) * part);
  result.bytes_in_flight = pipe * 2 * bn * deep * bytes;
  const double turns = std::ceil(warps / unit.schedulers);
  const double computing =
      turns * result.flops / steps / warps / (unit.flops_per_cycle(result.rate) / unit.schedulers) +
      4 * shared_latency + 2 * barrier_cycles;
  result.serial_cycles =
      steps * (computing + std::max(0.0, memory_latency - (pipe - 1) * computing)) + 2 * memory_latency;
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const double bytes = static_cast<double>(size_of(type)), deep = values[head_dim], bm = values[block_m];
  const Work asked = work(values, device, type);
  return {
      {{bm * deep, deep, bytes, false}, {2 * values[seq_k] * deep, deep, bytes, false}, {bm * deep, deep, bytes, true}},
      bm * deep,
      8 * bytes,
      asked.blocks,
      asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel&, DType) {
  return {{"block_m", {32, 64, 128, 256}},
          {"block_n", {32, 64, 128}},
          {"threads", {64, 128, 256}},
          {"stages", {1, 2, 3, 4}}};
}

}  // namespace

CandidateTemplate description() {
  return {"attention",
          "softmax(Q * K^T) * V without storing the scores",
          {FIELDS(XTUNE_FIELD_ROW)},
          {block_m, block_n, threads},
          {tensor},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace attention

}  // namespace xtune::model

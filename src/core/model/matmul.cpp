// Template matmul: C = A * B by tiles, on vector or matrix units.
#include <algorithm>

#include "core/model/matmul_tile.hpp"

namespace xtune::model {
namespace matmul {
namespace {

double registers_of(const Tile& tile) {
  const double own = 32;  // addresses, counters and temporaries of the compiler
  double held = 0;
  if (tile.tensor_units)
    held = tile.w_m * tile.w_n * tile.sum_words / tile.lanes +
           2 * (tile.w_m + tile.w_n) * 16 * tile.bytes / 4 / tile.lanes;
  else
    held = tile.tm * tile.tn * tile.sum_words + 2 * (tile.tm + tile.tn);
  const double staged =
      tile.depth_of_pipe > 1 && !tile.past_registers
          ? ((tile.staged_a ? tile.bm : 0) + (tile.staged_b ? tile.bn : 0)) * tile.bk * tile.bytes / 4 / tile.count
          : 0;
  return own + held + staged;
}

/// Bytes from memory: data that the blocks of a wave share is read once for all of them.
double memory_of(const Tile& tile, const device::DeviceModel& device, double blocks_at_once) {
  const double across = ceil_div(tile.columns, tile.bn), down = ceil_div(tile.rows, tile.bm);
  const double tiles = across * down;
  const double wave = std::clamp(blocks_at_once / tile.splits, 1.0, tiles);
  double wide = std::min(across, wave), tall = std::min(down, std::ceil(wave / across));
  if (tile.raster_rows >= 1)
    tall = std::min({tile.raster_rows, down, wave}), wide = std::min(across, std::ceil(wave / tall));
  const double once = (tile.rows + tile.columns) * tile.depth * tile.bytes;
  double read = (tall * tile.bm + wide * tile.bn) * tile.depth * tile.bytes * tiles / wave;
  if (once < 0.5 * static_cast<double>(device.info.l2_bytes)) read = once;
  const double partial = tile.splits > 1 ? 2 * tile.splits * tile.rows * tile.columns * 4 : 0;
  return std::max(read, once) + tile.rows * tile.columns * tile.c_bytes + partial;
}

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Tile tile(values, device, type);
  Work result;
  if (!tile.sensible() || tile.bm * tile.bn < tile.count) return result;
  const Throughput unit(device);
  const double depth = ceil_div(tile.depth, tile.splits), steps = ceil_div(depth, tile.bk);
  result.blocks = ceil_div(tile.rows, tile.bm) * ceil_div(tile.columns, tile.bn) * tile.splits;
  result.threads = tile.count;
  result.shared_bytes = tile.shared;
  result.registers = registers_of(tile);
  result.blocks_at_most = tile.rationed;
  result.flops = 2 * tile.bm * tile.bn * steps * tile.bk;
  result.spill_uses = depth;  // every accumulator is used at each k
  if (tile.tensor_units)
    result.rate = matrix_rate(type, device), result.spill_uses = depth / 16;
  else if (type == DType::f64)
    result.rate = device::Rate::f64;

  Port each_k, each_step;
  read_operands(tile, unit, each_k);
  fill_tiles(tile, unit, each_step);
  result.shared_cycles = steps * (tile.bk * each_k.shared + each_step.shared);
  result.cache_cycles = steps * (tile.bk * each_k.cache + each_step.cache);
  result.instructions =
      steps * (tile.bk * (each_k.instructions + tile.warps / tile.steps_unrolled) + each_step.instructions);
  // What a step reads of a row or column of the inputs, where those are adjacent along k.
  const double waste = sector_waste(tile.bk * tile.bytes);
  const double a_bytes = tile.bm * depth * tile.bytes * (tile.a_along_k ? waste : 1);
  const double b_bytes = tile.bn * depth * tile.bytes * (tile.b_along_k ? waste : 1);
  result.l2_bytes = a_bytes + b_bytes + (tile.bm * tile.bn + (tile.biased ? tile.bn : 0)) * tile.c_bytes;

  // The block's own chain: each scheduler serves its warps, whose results depend on earlier ones.
  const double turns = std::ceil(tile.warps / unit.schedulers);
  const double per_warp = result.flops / steps / tile.warps / (unit.flops_per_cycle(result.rate) / unit.schedulers);
  const double chain = tile.tensor_units ? 0 : tile.bk * std::max(1, device.dependent_cycles);
  const double operands = tile.staged_a && tile.staged_b ? shared_latency : cache_latency;
  const double missed = tile.staged_a && tile.staged_b ? 0 : 8;  // each k accesses new lines, served by L2
  const double computing = std::max(turns * per_warp, chain) +
                           tile.bk * (operands / tile.steps_unrolled + missed) / (tile.tensor_units ? 16 : 1);
  const bool staged = tile.staged_a || tile.staged_b;
  const double waiting = std::max(0.0, memory_latency - (tile.depth_of_pipe - 1) * computing);
  result.serial_cycles = steps * (computing + (staged ? waiting + barrier_cycles : 0)) + memory_latency;

  const double in_flight = (tile.bm + tile.bn) * tile.bk * tile.bytes * std::max(1.0, tile.depth_of_pipe - 1);
  result.bytes_in_flight = in_flight;
  const double per_unit = std::max(1.0, std::floor(static_cast<double>(device.info.registers_per_compute_unit) /
                                                   (std::max(32.0, result.registers) * tile.count)));
  result.memory_bytes =
      memory_of(tile, device, per_unit * unit.units) + (tile.biased ? tile.columns * tile.c_bytes : 0);
  if (tile.splits > 1) result.extra_us = 3;  // the launch that adds the parts
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const Tile tile(values, device, type);
  CarverView view;
  view.tensors = {{tile.bm * tile.depth, tile.depth, tile.bytes, false},
                  {tile.bn * tile.depth, tile.depth, tile.bytes, false},
                  {tile.bm * tile.bn, tile.bn, tile.bytes, true}};
  view.tile_elements = tile.bm * tile.bn;
  view.tile_bits = 8 * tile.bytes;
  view.grid = ceil_div(tile.rows, tile.bm) * ceil_div(tile.columns, tile.bn);
  view.shared_bytes = tile.shared;
  return view;
}

std::vector<DefaultParameter> space(const device::DeviceModel& device, DType type) {
  const bool matrix = *matrix_type(type) != '\0' && type != DType::f32 && device.has_matrix(matrix_type(type));
  std::vector<DefaultParameter> parameters = {{"block_m", {32, 64, 128, 256}}, {"block_n", {32, 64, 128, 256}},
                                              {"block_k", {16, 32, 64, 128}},  {"threads", {64, 128, 256, 512}},
                                              {"stages", {1, 2, 3, 4}},        {"split_k", {1, 2, 4}},
                                              {"raster", {0, 4, 8}},           {"tensor", {matrix ? 1 : 0}}};
  if (!matrix) parameters.push_back({"thread_m", {4, 8}});
  return parameters;
}

}  // namespace
}  // namespace matmul

CandidateTemplate matmul_template() {
  using namespace matmul;
  return {"matmul",
          "C = A * B by tiles, on vector or matrix units",
          {FIELDS(XTUNE_FIELD_ROW)},
          {block_m, block_n, thread_m, thread_n, threads, threads_m, threads_n},
          {tensor, shared_a, shared_b, split_k, thread_m, thread_n},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace xtune::model

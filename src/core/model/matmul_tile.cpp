// Data movement of a matmul tile: through shared memory's banks, the first-level cache, and instructions.
#include "core/model/matmul_tile.hpp"

#include <algorithm>

#include "core/model/banks.hpp"

namespace xtune::model::matmul {
namespace {

int words(double elements, double bytes) { return static_cast<int>(std::clamp(elements * bytes / 4, 1.0, 4.0)); }

/// Loads one operand into registers, for all warps and one k.
void read_operand(const Tile& tile, const Throughput& unit, bool along_m, Port& port) {
  const double per_lane = along_m ? tile.tm : tile.tn;
  const bool staged = along_m ? tile.staged_a : tile.staged_b;
  const double vector = std::min(along_m ? tile.va : tile.vb, per_lane);
  const int wide = words(vector, tile.bytes);
  const double per_thread = std::max(1.0, per_lane * tile.bytes / 4 / wide);  // instructions
  const auto step = static_cast<long long>(tile.side_by_side ? std::max(1.0, per_lane * tile.bytes / 4) : wide);
  LaneLayout layout{tile.lanes, static_cast<int>(tile.l_m), along_m ? step : 0, along_m ? 0 : step, wide};
  port.instructions += tile.warps * per_thread;
  if (staged) {
    port.shared += tile.warps * per_thread * bank_turns(layout, static_cast<int>(unit.shared_bytes / 4));
  } else {
    // Every line costs a cycle, and every register its transfer.
    const double registers = per_thread * wide * unit.cache_register_cycles();
    const double lines = per_thread * lines_touched(layout, 32) * 128 / unit.cache_bytes;
    port.cache += tile.warps * std::max(registers, lines);
  }
}

/// Fills one operand's tile in shared memory, for all warps and one step of k.
void fill_tile(const Tile& tile, const Throughput& unit, bool along_m, Port& port) {
  if (!(along_m ? tile.staged_a : tile.staged_b)) return;
  const double width = along_m ? tile.bm : tile.bn;
  double vector = std::min(along_m ? tile.va : tile.vb, width);
  double across = along_m ? tile.fill_a : tile.fill_b;
  double chunk = vector;  // the part of a row that a thread reads at once
  if (std::isnan(across)) {
    across = std::max(1.0, std::min(tile.count, width / vector));
  } else {
    if (tile.side_by_side) chunk = std::max(1.0, width / across);
    vector = std::min(vector, chunk);
  }
  const int wide = words(vector, tile.bytes);
  const double rows_each = tile.side_by_side ? std::max(1.0, tile.bk / std::max(1.0, tile.count / across)) : 1;
  const double row_words = (width * tile.bytes + (std::isnan(tile.row_pad) ? 0 : tile.row_pad)) / 4;
  const auto step = static_cast<long long>(std::max(1.0, chunk * tile.bytes / 4));
  LaneLayout stored{tile.lanes, static_cast<int>(across), step, static_cast<long long>(rows_each * row_words), wide};
  LaneLayout loaded = stored;
  if (along_m ? tile.a_along_k : tile.b_along_k) {
    loaded.across = static_cast<int>(std::clamp(tile.bk / vector, 1.0, static_cast<double>(tile.lanes)));
    loaded.across_step = wide;
  }
  loaded.down_step = 1 << 20;  // rows of the matrix are far apart
  const double instructions = width * tile.bk * tile.bytes / 4 / wide / tile.lanes;
  const double turns = instructions * bank_turns(stored, static_cast<int>(unit.shared_bytes / 4));
  port.shared += turns;
  port.instructions += instructions * (tile.past_registers ? 3 : 4);  // including address and bounds
  const double lines = lines_touched(loaded, 32) * 128 / unit.cache_bytes;
  // Without registers, the data still crosses the cache's port, but needs no instruction to store.
  port.cache += instructions * std::max(lines, tile.past_registers ? 0.0 : wide * unit.cache_register_cycles());
}

/// Matrix instructions read whole fragments: every warp its rows of A and its columns of B, 16 bytes per lane.
void read_fragments(const Tile& tile, const Throughput& unit, Port& port) {
  const auto turns = [&](double row_bytes) {
    if (std::isnan(tile.row_pad)) return 1.0;  // such kernels usually swizzle or pad
    const LaneLayout rows{8, 1, 0, static_cast<long long>((row_bytes + tile.row_pad) / 4), 4};
    return bank_turns(rows, static_cast<int>(unit.shared_bytes / 4)) * unit.shared_bytes / 128;  // 1: no conflict
  };
  const double a = tile.w_m * tile.bytes * (tile.staged_a ? turns(tile.bk * tile.bytes) / unit.shared_bytes : 0);
  const double b = tile.w_n * tile.bytes * (tile.staged_b ? turns(tile.bn * tile.bytes) / unit.shared_bytes : 0);
  port.shared += tile.warps * (a + b);
  port.instructions += tile.warps * (tile.w_m + tile.w_n) * tile.bytes / 16 / tile.lanes * 2;
  port.cache +=
      tile.warps * ((tile.staged_a ? 0 : tile.w_m) + (tile.staged_b ? 0 : tile.w_n)) * tile.bytes / unit.cache_bytes;
}

}  // namespace

Tile::Tile(FieldValues values, const device::DeviceModel& device, DType type) {
  const auto get = [&](std::size_t field, double fallback) { return value_or(values, field, fallback); };
  bytes = static_cast<double>(size_of(type));
  rows = values[m], columns = values[n], depth = values[k];
  bm = values[block_m], bn = values[block_n];
  bk = get(block_k, 32);
  lanes = std::max(1, device.info.warp_size);
  tensor_units = get(tensor, 0) != 0;
  th_m = get(threads_m, NAN), th_n = get(threads_n, NAN);
  tm = get(thread_m, bm / th_m), tn = get(thread_n, bn / th_n);
  count = get(threads, std::isnan(th_m * th_n) ? bm * bn / (tm * tn) : th_m * th_n);
  if (std::isnan(count)) count = std::clamp(bm * bn / 32, static_cast<double>(lanes), 256.0);
  if (std::isnan(tm) && std::isnan(tn)) tm = std::min(bm, power_of_two_below(std::sqrt(bm * bn / count)));
  if (std::isnan(tm)) tm = bm * bn / (count * tn);
  if (std::isnan(tn)) tn = bm * bn / (count * tm);
  tm = std::max(1.0, tm), tn = std::max(1.0, tn);
  warps = std::ceil(count / lanes);
  l_m =
      std::clamp(get(lanes_m, std::isnan(th_m) ? power_of_two_below(std::sqrt(lanes)) : std::min<double>(th_m, lanes)),
                 1.0, static_cast<double>(lanes));
  l_n = std::max(1.0, std::floor(lanes / l_m));
  w_m = get(warp_m, NAN), w_n = get(warp_n, NAN);
  if (std::isnan(w_m))
    w_m = std::isnan(w_n) ? bm / std::min({warps, bm / 16, power_of_two_below(std::sqrt(warps * bm / bn))})
                          : bm * bn / (warps * w_n);
  if (std::isnan(w_n)) w_n = std::min(bn, bm * bn / (warps * w_m));
  side_by_side = get(chunked, 0) != 0;
  const double widest = std::max(1.0, 16 / bytes);
  va = get(vector_a, widest), vb = get(vector_b, widest);
  staged_a = get(shared_a, 1) != 0, staged_b = get(shared_b, 1) != 0;
  fill_a = get(fill_lanes_a, NAN), fill_b = get(fill_lanes_b, NAN);
  row_pad = get(pad, tensor_units ? NAN : 0);
  const double padding = std::isnan(row_pad) ? 0 : row_pad;
  depth_of_pipe = std::max(1.0, get(stages, 1));
  past_registers = get(async, depth_of_pipe > 2 ? 1 : 0) != 0;
  steps_unrolled = std::max(1.0, get(unroll, 2));
  raster_rows = get(raster, 0);
  splits = std::max(1.0, get(split_k, 1));
  c_bytes = get(out_bytes, tensor_units ? 4 : bytes);
  shared = get(shared_bytes,
               depth_of_pipe * (staged_a * bm * (bk * bytes + padding) + staged_b * bk * (bn * bytes + padding)));
  rationed = get(blocks_per_unit, 0);
  sum_words = get(sum_bytes, 4) / 4;
  a_along_k = get(transpose_a, 1) == 0, b_along_k = get(transpose_b, 0) != 0;
  biased = get(bias, 0) != 0;
}

bool Tile::sensible() const {
  for (const double value : {rows, columns, depth})
    if (!(value >= 1 && value < 1e12)) return false;
  for (const double value : {bm, bn, bk, count, tm, tn, va, vb, w_m, w_n})
    if (!(value >= 1 && value < 1e6)) return false;
  for (const double value : {fill_a, fill_b, row_pad})
    if (!std::isnan(value) && !(value >= 0 && value < 1e9)) return false;
  return c_bytes >= 0 && shared >= 0 && shared < 1e12 && rationed < 1e9 && splits < 1e9;
}

void read_operands(const Tile& tile, const Throughput& unit, Port& port) {
  if (tile.tensor_units) {
    read_fragments(tile, unit, port);
  } else {
    read_operand(tile, unit, true, port);
    read_operand(tile, unit, false, port);
  }
}

void fill_tiles(const Tile& tile, const Throughput& unit, Port& port) {
  fill_tile(tile, unit, true, port);
  fill_tile(tile, unit, false, port);
}

}  // namespace xtune::model::matmul

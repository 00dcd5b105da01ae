// Template matmul: C = A * B by tiles, on vector or matrix units.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {
namespace matmul {
namespace {

// F(name, need, meaning; default): the fields in the order of FieldValues.
#define FIELDS(F)                                                                                           \
  F(m, problem, 1, "rows of C")                                                                             \
  F(n, problem, 1, "columns of C")                                                                          \
  F(k, problem, 1, "length of the sums")                                                                    \
  F(block_m, required, 1, "rows of a block's tile of C")                                                    \
  F(block_n, required, 1, "columns of a block's tile of C")                                                 \
  F(block_k, optional, 1, "how much of k a step takes; 32")                                                 \
  F(threads, optional, 1, "threads of a block; from the thread tile, else 256")                             \
  F(threads_m, optional, 1, "threads of a block along m")                                                   \
  F(threads_n, optional, 1, "threads of a block along n")                                                   \
  F(thread_m, optional, 1, "rows that a thread computes")                                                   \
  F(thread_n, optional, 1, "columns that a thread computes")                                                \
  F(lanes_m, optional, 1, "threads of a warp along m, which count fastest; as square as it gets")           \
  F(warp_m, optional, 1, "rows that a warp computes; from lanes and thread tile")                           \
  F(warp_n, optional, 1, "columns that a warp computes")                                                    \
  F(chunked, optional, 0, "1: a thread's results lie side by side; 0: interleaved with its neighbours'; 0") \
  F(vector_a, optional, 1, "elements of A that an instruction moves; 16 bytes")                             \
  F(vector_b, optional, 1, "elements of B that an instruction moves; 16 bytes")                             \
  F(shared_a, optional, 0, "1: A goes through shared memory; 1")                                            \
  F(shared_b, optional, 0, "1: B goes through shared memory; 1")                                            \
  F(fill_lanes_a, optional, 1, "threads side by side along m that fill A's tile; as many as it takes")      \
  F(fill_lanes_b, optional, 1, "threads side by side along n that fill B's tile; as many as it takes")      \
  F(pad, optional, 0, "bytes after each row of a tile in shared memory; 0")                                 \
  F(stages, optional, 1, "tiles under way; 1: copy, then compute; 1")                                       \
  F(async, optional, 0, "1: copies to shared memory go past the registers; from 3 stages on")               \
  F(unroll, optional, 1, "steps of k per pass of the inner loop; 2")                                        \
  F(tensor, optional, 0, "1: matrix instructions; 0")                                                       \
  F(raster, optional, 0, "rows of tiles that run together before they move on along n; 0: row after row")   \
  F(split_k, optional, 1, "blocks that share the sum of one tile; 1")                                       \
  F(blocks_per_unit, optional, 0, "blocks that registers are rationed for; none")                           \
  F(shared_bytes, optional, 0, "shared memory of a block; from tiles and stages")                           \
  F(out_bytes, optional, 1, "bytes of an element of C; as the inputs, 4 with matrix instructions")          \
  F(transpose_a, optional, 0, "1: A is stored as k x m; 0: as m x k; as suits the reads of a tile")         \
  F(transpose_b, optional, 0, "1: B is stored as n x k; 0: as k x n; as suits the reads of a tile")         \
  F(bias, optional, 0, "1: a value for each column is added; 0")                                            \
  F(sum_bytes, optional, 1, "bytes of an accumulator; 4")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

struct Tile {
  Tile(FieldValues values, const device::DeviceModel& device, DType type);
  bool sensible() const;

  double bytes;                       ///< of an input element
  double rows, columns, depth;        ///< m, n, k
  double bm, bn, bk;                  ///< of a block
  double th_m, th_n, count, warps;    ///< threads along m and n (NaN: unknown), in all; warps of a block
  double tm, tn, l_m, l_n, w_m, w_n;  ///< of a thread; lanes of a warp; of a warp
  double va, vb;                      ///< elements that an instruction moves
  double fill_a, fill_b;              ///< fill_lanes_a and _b; NaN: as many as needed
  double row_pad;                     ///< bytes; NaN: laid out without bank conflicts
  double depth_of_pipe, steps_unrolled, raster_rows, splits, rationed;
  double c_bytes, shared;             ///< of an element of C; shared memory of a block
  double sum_words;                   ///< registers of an accumulator
  bool a_along_k, b_along_k, biased;  ///< elements of a row of A, a column of B are adjacent in memory
  int lanes;                          ///< of a warp
  bool tensor_units, side_by_side, staged_a, staged_b, past_registers;
};

/// Cycles in which all warps of a block keep a compute unit's ports busy, and the instructions they issue.
struct Port {
  double shared = 0, cache = 0;
  double instructions = 0;
};

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

/// Loads both operands into registers, for one k.
void read_operands(const Tile& tile, const Throughput& unit, Port& port) {
  if (tile.tensor_units) {
    read_fragments(tile, unit, port);
  } else {
    read_operand(tile, unit, true, port);
    read_operand(tile, unit, false, port);
  }
}

/// Fills the tiles in shared memory, for one step of k.
void fill_tiles(const Tile& tile, const Throughput& unit, Port& port) {
  fill_tile(tile, unit, true, port);
  fill_tile(tile, unit, false, port);
}

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

CandidateTemplate description() {
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

}  // namespace matmul

}  // namespace xtune::model

// Template matmul_tma: C = A * B by warpgroups whose tiles arrive through tensor maps, on persistent blocks.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {
namespace matmul_tma {
namespace {

#define FIELDS(F)                                                                                                \
  F(m, problem, 1, "rows of A and C")                                                                            \
  F(n, problem, 1, "columns of B and C")                                                                         \
  F(k, problem, 1, "columns of A, rows of B")                                                                    \
  F(block_m, required, 1, "rows of C that a block computes")                                                     \
  F(block_n, required, 1, "columns of C that a block computes")                                                  \
  F(block_k, required, 1, "steps of k in a stage")                                                               \
  F(stages, required, 1, "stages in shared memory")                                                              \
  F(loaded_m, optional, 1, "rows of A that a stage holds, if more than block_m; block_m")                        \
  F(loaded_n, optional, 1, "columns of B that a stage holds, if more than block_n; block_n")                     \
  F(pitch_a, optional, 1, "bytes from a row of A in memory to the next; a multiple of 128")                      \
  F(pitch_b, optional, 1, "the same of B; a multiple of 128")                                                    \
  F(consumers, optional, 1, "warpgroups that multiply; 2")                                                       \
  F(swap, optional, 0, "1: the 64 rows of a product lie along n; 0")                                             \
  F(pingpong, optional, 0, "1: consumers take tiles in turns, so that one writes while another multiplies; 0")   \
  F(cluster_m, optional, 1, "blocks along m that load what they share once; 1")                                  \
  F(cluster_n, optional, 1, "the same along n; 1")                                                               \
  F(cluster_k, optional, 1, "blocks of a cluster that divide k; 1")                                              \
  F(split_k, optional, 0, "parts of k by different blocks; 0: the tiles of the last wave are divided evenly; 1") \
  F(tile_store, optional, 0, "1: results are written by tensor maps; 1")                                         \
  F(parts, optional, 1, "buffers for results, of 64 rows and 128 bytes, of a consumer; 2")                       \
  F(raster, optional, 0, "tiles that run together along m before moving on along n; 0: row after row")           \
  F(once, optional, 0, "1: what is read once does not displace other lines of L2; 0")                            \
  F(packed_a, optional, 0, "1: a launch before this one copies A to rows that tensor maps describe; 0")          \
  F(packed_b, optional, 0, "the same of B; 0")                                                                   \
  F(direct_a, optional, 0, "1: threads read A, without a tensor map, and write it to shared memory; 0")          \
  F(direct_b, optional, 0, "the same of B; 0")                                                                   \
  F(out_bytes, optional, 1, "bytes of an element of C; 2")                                                       \
  F(shared_bytes, optional, 0, "shared memory of a block; from tiles and stages")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

// A product of a warpgroup has 64 rows, and takes 32 bytes along k.
constexpr double product_rows = 64, product_bytes = 32;
// Bytes per clock that tensor maps bring to a compute unit, and that L2 gives all of them, per unit of the chip: up to
// 48 were seen with all units of an H200 at work, and more with few (kernels/gemm_hopper).
constexpr double port_bytes = 64, chip_bytes = 44;
// Time of products whose tile ends within a row of 128 bytes, of that of whole rows: 1.3 to 1.45 on an H200.
constexpr double ragged_time = 1.35;
// Cycles from the order of a stage until it is there, and that blocks of a cluster wait for each other for every 128
// bytes along k. A stage is ordered again one step after its products began, when the next ones have started.
// What several blocks load together is ordered when all have room for it, and is later by meeting_latency.
constexpr double stage_latency = 800, meeting_cycles = 20, meeting_latency = 800, meeting_us = 1.4;
// A block that does not persist begins, with barriers and its first loads. Bytes per clock of sums that a block writes
// to another one's shared memory.
constexpr double beginning_cycles = 3000, exchange_bytes = 16;
// Time of loads from rows that do not begin at lines of L2, 128 bytes, beside that of loads from rows that do: 1.05
// to 1.1 if they begin at half lines, 1.4 to 1.6 at quarters, 1.9 to 2.2 within a quarter, on an H200.
double split_lines(double pitch) {
  return std::fmod(pitch, 128) == 0 ? 1 : std::fmod(pitch, 64) == 0 ? 1.05 : std::fmod(pitch, 32) == 0 ? 1.4 : 2;
}
// Clusters of more than two blocks leave some compute units idle: each lies in one part of the chip, of 16 to 18 units
// on an H200, where 32 clusters of 4 blocks do not run at once.
constexpr double idle_share = 0.1;
// Operands that no tensor map describes, as measured on an H200 (kernels/gemm_hopper). A launch that copies them first:
// its own time, in us, and the part of the memory's bandwidth that it reaches. Reading them by four warps: cycles for
// 128 bytes.
constexpr double packing_us = 3, packing_part = 0.6, direct_cycles = 16;

struct Problem {
  double rows, columns, depth, bytes;
};

/// A configuration, with P the operand of 64 rows and Q the other one.
struct Tile {
  Tile(FieldValues values, DType type)
      : all{values[m], values[n], values[k], static_cast<double>(size_of(type))},
        bm(values[block_m]),
        bn(values[block_n]),
        bk(values[block_k]),
        depth(values[stages]),
        loaded_rows(value_or(values, loaded_m, bm)),
        loaded_columns(value_or(values, loaded_n, bn)),
        waste_a(split_lines(value_or(values, pitch_a, 128))),
        waste_b(split_lines(value_or(values, pitch_b, 128))),
        groups(value_or(values, consumers, 2)),
        in_turns(value_or(values, pingpong, 0) != 0),
        along_m(value_or(values, cluster_m, 1)),
        along_n(value_or(values, cluster_n, 1)),
        along_k(value_or(values, cluster_k, 1)),
        splits(value_or(values, split_k, 1)),
        c_bytes(value_or(values, out_bytes, 2)) {
    const bool swapped = value_or(values, swap, 0) != 0;
    p = swapped ? bn : bm;
    q = swapped ? bm : bn;
    whole_tiles = ceil_div(all.rows, bm * along_m) * along_m * ceil_div(all.columns, bn * along_n) * along_n;
    stage = (loaded_rows + loaded_columns) * bk * all.bytes;
  }
  bool sensible() const {
    for (const double size : {all.rows, all.columns, all.depth, bm, bn, bk, depth, groups, along_m, along_n, along_k})
      if (!(size >= 1 && size < 1e9)) return false;
    return true;
  }
  bool together() const { return along_m * along_n > 1; }  ///< several blocks load what they share once
  bool ragged() const { return loaded_rows > bm || loaded_columns > bn; }
  Problem all;
  double bm, bn, bk, depth, loaded_rows, loaded_columns, waste_a, waste_b, groups;
  bool in_turns;
  double along_m, along_n, along_k, splits, c_bytes;
  double p = 0, q = 0, whole_tiles = 0, stage = 0;
};

/// Microseconds of the launch that copies operands, if there is one.
double packing_us_of(const Tile& tile, FieldValues values, const device::DeviceModel& device) {
  const double rows = value_or(values, packed_a, 0) != 0 ? tile.all.rows : 0;
  const double columns = value_or(values, packed_b, 0) != 0 ? tile.all.columns : 0;
  if (rows + columns == 0) return 0;
  const double bytes = 2 * (rows + columns) * tile.all.depth * tile.all.bytes;
  return packing_us + (device.memory_GB_s > 0 ? bytes / (device.memory_GB_s * packing_part) * 1e-3 : 0);
}

/// Bytes of a stage that threads read.
double direct_bytes_of(const Tile& tile, FieldValues values) {
  const double rows = value_or(values, direct_a, 0) != 0 ? tile.bm : 0;
  const double columns = value_or(values, direct_b, 0) != 0 ? tile.bn : 0;
  return (rows + columns) * tile.bk * tile.all.bytes;
}

/// Bytes from and to memory: what the blocks of a wave share is read once for all of them.
double memory_of(const Tile& tile, FieldValues values, const device::DeviceModel& device, double units) {
  const Problem& all = tile.all;
  const double across = ceil_div(all.columns, tile.bn), down = ceil_div(all.rows, tile.bm), tiles = across * down;
  const double wave = std::clamp(units, 1.0, tiles), group = std::max(1.0, value_or(values, raster, 0));
  const double tall = std::min({group, down, wave}), wide = std::min(across, std::ceil(wave / tall));
  const double least = (all.rows + all.columns) * all.depth * all.bytes;
  double read = (tall * tile.bm + wide * tile.bn) * all.depth * all.bytes * tiles / wave;
  if (least < 0.5 * static_cast<double>(device.info.l2_bytes)) read = least;
  const double written = all.rows * all.columns * tile.c_bytes;
  // Lines that others left in L2 are written back when reads displace them.
  const double displaced =
      value_or(values, once, 0) != 0 ? 0 : std::min(least, 0.8 * static_cast<double>(device.info.l2_bytes));
  return std::max(read, least) + written + displaced;
}

/// Registers as the launch sees them. The consumers take over most of the producer's: what they can have at most
/// follows from the registers of a compute unit.
double registers_of(double sums, double consumers) {
  const double own = 40 + sums, shared_out = std::floor(65536 / (128 * (1 + consumers)) / 8) * 8;
  const double most = consumers == 2 ? 232 : consumers == 3 ? 160 : shared_out;
  return own <= most ? std::min(own, shared_out) : own;
}

/// Cycles of a step in which nothing is multiplied: a stage is loaded again when its products are done.
double waiting_of(const Tile& tile, double step_cycles) {
  const double ahead = std::max(1.0, tile.depth - 1);
  const double latency = stage_latency + (tile.together() ? meeting_latency : 0);
  const double meeting = tile.together() ? meeting_cycles * tile.bk * tile.all.bytes / 128 : 0;
  return std::max(0.0, latency - (ahead - 1) * step_cycles) / ahead + meeting;
}

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Tile tile(values, type);
  Work result;
  if (!tile.sensible()) return result;
  const Throughput unit(device);
  const double parts_of_k = tile.along_k * std::max(1.0, tile.splits);
  const double steps = std::max(1.0, ceil_div(ceil_div(tile.all.depth, tile.bk), parts_of_k));
  result.rate = matrix_rate(type, device);
  result.threads = 128 * (1 + tile.groups);
  result.blocks = tile.whole_tiles * parts_of_k;
  // Blocks of the last wave share its tiles.
  if (tile.splits < 1)
    result.blocks = std::max(result.blocks, std::ceil(result.blocks / unit.units) * unit.units * 0.98);
  result.blocks_at_most = 1;
  // One block for each compute unit is launched, whatever fits.
  result.shared_bytes = std::max(value_or(values, shared_bytes, tile.depth * tile.stage),
                                 0.51 * static_cast<double>(device.info.shared_per_compute_unit));
  const double rows_each = tile.p / (tile.in_turns ? 1 : tile.groups);
  result.registers = registers_of(rows_each * tile.q / 128, tile.groups);
  result.spill_uses = steps;

  const double fraction = tile.splits < 1 ? tile.whole_tiles / result.blocks : 1;
  result.flops = 2 * tile.p * tile.q * tile.bk * steps * fraction;
  // Each product reads its rows of P and all of Q from shared memory.
  const double products = tile.p / product_rows * tile.bk * tile.all.bytes / product_bytes;
  const double operands = products * (product_rows + tile.q) * product_bytes / unit.shared_bytes;
  const double direct = direct_bytes_of(tile, values) / 128;
  const double loaded =
      tile.bk * tile.all.bytes *
      (tile.loaded_rows * tile.waste_a / tile.along_n + tile.loaded_columns * tile.waste_b / tile.along_m);
  const double multiplied = 2 * tile.p * tile.q * tile.bk / unit.flops_per_cycle(result.rate);
  const double port = std::min(port_bytes, chip_bytes * unit.units / std::min(unit.units, result.blocks));
  const double step_cycles =
      std::max({multiplied, operands, loaded / port, direct * direct_cycles}) * (tile.ragged() ? ragged_time : 1);
  const double results = tile.bm * tile.bn * tile.c_bytes / tile.along_k;
  result.shared_cycles = steps * operands * fraction + 2 * results / unit.shared_bytes;
  result.l2_bytes = results;

  // The block's own chain. Writing is hidden by the other consumer's products, or by the next tile's as far as there
  // are buffers; of one tile, a buffer waits for the last one.
  const bool several = result.blocks > unit.units && tile.along_k <= 1;  // tiles of a block
  const double in_buffers = value_or(values, parts, 2) * tile.groups * product_rows * 128;
  const double shown = !several ? 1 : tile.in_turns ? 0 : std::max(0.0, 1 - in_buffers / results);
  const double by_threads = value_or(values, tile_store, 1) != 0 ? 0 : 1;
  const double rounds = several ? 1 : std::max(1.0, std::ceil(results / in_buffers));
  const double writing = results / 64 + 300 * rounds;
  result.serial_cycles =
      steps * (step_cycles + waiting_of(tile, step_cycles)) * fraction + writing * (0.4 + 0.6 * shown + by_threads);
  // A consumer without a turn does nothing.
  if (tile.in_turns && !several) result.serial_cycles += writing;
  // Sums of parts of k: through memory, written and then read by the last, or among the blocks of a cluster, whose next
  // tile begins with empty stages.
  const double sum_bytes = tile.bm * tile.bn * 4;
  if (tile.splits > 1) result.serial_cycles += sum_bytes * (1 + tile.splits) / unit.l2_bytes;
  if (tile.along_k > 1) result.serial_cycles += sum_bytes * (1 - 1 / tile.along_k) / exchange_bytes + beginning_cycles;
  if (tile.along_m * tile.along_n * tile.along_k > 2) result.blocks *= 1 + idle_share;
  if (tile.together()) result.extra_us = meeting_us;
  if (tile.splits > 1) result.extra_us += 2;
  if (tile.splits < 1) result.serial_cycles *= 1.1;
  if (tile.splits < 1) result.extra_us += 5 + 3 * sum_bytes / unit.l2_bytes / unit.clock_GHz * 1e-3;
  result.extra_us += packing_us_of(tile, values, device);
  result.memory_bytes = memory_of(tile, values, device, unit.units / parts_of_k);
  // Threads hold a stage in registers, whatever the number of stages.
  result.bytes_in_flight = direct > 0 ? tile.stage : (tile.depth - 1) * tile.stage;
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel&, DType type) {
  const Tile tile(values, type);
  CarverView view;
  view.tensors = {{tile.bm * tile.all.depth, tile.all.depth, tile.all.bytes, false},
                  {tile.bn * tile.all.depth, tile.all.depth, tile.all.bytes, false},
                  {tile.bm * tile.bn, tile.bn, tile.c_bytes, true}};
  view.tile_elements = tile.bm * tile.bn;
  view.tile_bits = 8 * tile.all.bytes;
  view.grid = tile.whole_tiles;
  view.shared_bytes = value_or(values, shared_bytes, tile.depth * tile.stage);
  return view;
}

std::vector<DefaultParameter> space(const device::DeviceModel&, DType) {
  return {{"block_m", {64, 128, 256}},
          {"block_n", {64, 128, 192, 256}},
          {"block_k", {32, 64}},
          {"stages", {2, 3, 4, 6}},
          {"split_k", {1, 2, 4}},
          {"cluster_m", {1, 2}},
          {"raster", {8}}};
}

}  // namespace

CandidateTemplate description() {
  return {"matmul_tma",
          "C = A * B by warpgroups whose tiles arrive through tensor maps",
          {FIELDS(XTUNE_FIELD_ROW)},
          {block_m, block_n, swap, consumers},
          {swap, pingpong, split_k, cluster_k},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace matmul_tma

}  // namespace xtune::model

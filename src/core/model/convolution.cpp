// Template convolution: direct convolution of an image with a small filter.
#include <algorithm>

#include "core/model/banks.hpp"
#include "core/model/template.hpp"

namespace xtune::model {
namespace convolution {
namespace {

#define FIELDS(F)                                                                                \
  F(width, problem, 1, "columns of the image")                                                   \
  F(height, problem, 1, "rows of the image")                                                     \
  F(filter_width, problem, 1, "columns of the filter")                                           \
  F(filter_height, problem, 1, "rows of the filter")                                             \
  F(block_x, required, 1, "threads of a block along a row")                                      \
  F(block_y, required, 1, "threads of a block across rows")                                      \
  F(tile_x, optional, 1, "results of a thread along a row; 1")                                   \
  F(tile_y, optional, 1, "results of a thread across rows; 1")                                   \
  F(chunked, optional, 0, "1: a thread's results lie side by side; 0: a block's width apart; 0") \
  F(shared, optional, 0, "1: the inputs go through shared memory; 0")                            \
  F(pad, optional, 0, "elements after each row in shared memory; 0")                             \
  F(constant, optional, 0, "1: the filter lies in constant memory; 1")                           \
  F(channels, optional, 1, "input channels that a result sums over; 1")                          \
  F(outputs, optional, 1, "images or output channels computed side by side; 1")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

/// Distinct inputs along one axis that a thread needs for `tile` results `step` apart under a filter of `length`.
double inputs_along(double tile, double step, double length) {
  return step >= length ? tile * length : length + (tile - 1) * step;
}

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  Work result;
  const double bytes = static_cast<double>(size_of(type));
  const double columns = values[width], lines = values[height], fw = values[filter_width], fh = values[filter_height];
  const double bx = values[block_x], by = values[block_y];
  const double tx = std::max(1.0, value_or(values, tile_x, 1)), ty = std::max(1.0, value_or(values, tile_y, 1));
  for (const double size : {columns, lines})
    if (!(size >= 1 && size < 1e12)) return result;
  for (const double size : {fw, fh, bx, by, tx, ty})
    if (!(size >= 1 && size < 1e4)) return result;
  const double deep = std::max(1.0, value_or(values, channels, 1)),
               side_by_side = std::max(1.0, value_or(values, outputs, 1));
  const bool staged = value_or(values, shared, 0) != 0, chunks = value_or(values, chunked, 0) != 0;
  const double tile_w = bx * tx, tile_h = by * ty,
               row = tile_w + fw - 1 + std::clamp(value_or(values, pad, 0), 0.0, 1e6);
  const double area = (tile_w + fw - 1) * (tile_h + fh - 1);
  result.blocks = ceil_div(columns, tile_w) * ceil_div(lines, tile_h) * side_by_side;
  result.threads = bx * by;
  result.shared_bytes = staged ? row * (tile_h + fh - 1) * bytes : 0;
  const double results = tx * ty, warps = std::ceil(result.threads / unit.warp);
  result.flops = 2 * results * fw * fh * deep * warps * unit.warp;
  if (type == DType::f64) result.rate = device::Rate::f64;

  // Unrolled over the filter, a thread loads an input once for all of its results that need it, as long as the rows in
  // use, one for each row of the filter, fit in the registers.
  const double loads_x = inputs_along(tx, chunks ? 1 : bx, fw), loads_y = inputs_along(ty, chunks ? 1 : by, fh);
  const double held = std::min(loads_x, fw + tx) * (loads_y < ty * fh ? std::min(ty, fh) : 1);
  result.registers = 24 + results + std::min(held, 96.0);
  result.spill_uses = fw;
  const double loads = loads_x * loads_y * deep;
  result.instructions = warps * loads * 1.25;
  const int across = static_cast<int>(std::min(bx, unit.warp));
  const LaneLayout layout{static_cast<int>(unit.warp), across, chunks ? static_cast<long long>(tx) : 1,
                          static_cast<long long>(staged ? row * (chunks ? ty : 1) : columns), 1};
  const double fill = area * deep * bytes / 4 / unit.warp;
  if (staged) {
    const double turns = bank_turns(layout, static_cast<int>(unit.shared_bytes / 4));
    result.shared_cycles = warps * loads * turns + fill * unit.shared_register_cycles();
    result.cache_cycles = fill * unit.cache_register_cycles();
  } else {
    const double turns = std::max(unit.cache_register_cycles(), lines_touched(layout, 32) * 128 / unit.cache_bytes);
    result.cache_cycles = warps * loads * turns;
  }
  // A coefficient from constant memory is an operand of its multiply-add; otherwise it is one more load for all
  // results.
  if (value_or(values, constant, 1) == 0) result.cache_cycles += warps * fw * fh * deep * unit.cache_register_cycles();
  result.l2_bytes = area * deep * bytes * std::max(1.0, 32 / (tile_w * bytes)) + tile_w * tile_h * bytes;
  const double halo = area / (tile_w * tile_h);
  const double image = columns * lines * bytes;
  // Neighbouring blocks run at the same time and find each other's halo in L2 if it can hold a band of rows.
  const bool kept = columns * (tile_h + fh) * bytes * 2 < static_cast<double>(device.info.l2_bytes);
  result.memory_bytes = side_by_side * image * (deep * (kept ? 1 : halo) + 1);
  result.bytes_in_flight = area * bytes;
  const double turns = std::ceil(warps / unit.schedulers);
  const double per_warp =
      results * fw * fh * deep * 2 * unit.warp / (unit.flops_per_cycle(result.rate) / unit.schedulers);
  const double chain = fw * fh * deep * std::max(1, device.dependent_cycles);
  const double latency = (staged ? shared_latency : cache_latency) * fh * deep;
  result.serial_cycles = std::max(turns * per_warp, chain) + latency + memory_latency +
                         (staged ? deep * (memory_latency + barrier_cycles) : l2_latency);
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const double bytes = static_cast<double>(size_of(type));
  const Work asked = work(values, device, type);
  const double tile_w = values[block_x] * std::max(1.0, value_or(values, tile_x, 1));
  const double tile_h = values[block_y] * std::max(1.0, value_or(values, tile_y, 1));
  const double area = (tile_w + values[filter_width] - 1) * (tile_h + values[filter_height] - 1);
  return {{{area, tile_w + values[filter_width] - 1, bytes, false}, {tile_w * tile_h, tile_w, bytes, true}},
          tile_w * tile_h,
          8 * bytes,
          asked.blocks,
          asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel&, DType) {
  return {{"block_x", {16, 32, 64, 128}},
          {"block_y", {1, 2, 4, 8, 16}},
          {"tile_x", {1, 2, 4}},
          {"tile_y", {1, 2, 4, 8}},
          {"shared", {0, 1}}};
}

}  // namespace
}  // namespace convolution

CandidateTemplate convolution_template() {
  using namespace convolution;
  return {"convolution",
          "direct convolution of an image with a small filter",
          {FIELDS(XTUNE_FIELD_ROW)},
          {block_x, block_y, tile_x, tile_y},
          {shared},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace xtune::model

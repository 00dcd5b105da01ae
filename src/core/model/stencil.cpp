// Templates stencil and convolution: sums over the neighbours of a point.
#include <algorithm>

#include "core/model/template.hpp"

namespace xtune::model {

namespace stencil {
namespace {

#define FIELDS(F)                                                                                         \
  F(width, problem, 1, "columns of the grid, adjacent in memory")                                         \
  F(height, problem, 1, "rows of the grid")                                                               \
  F(depth, optional, 1, "planes of the grid; 1")                                                          \
  F(radius, optional, 1, "distance to the farthest neighbour along an axis; 1")                           \
  F(points, optional, 1, "elements that a result depends on; those along the axes")                       \
  F(block_x, required, 1, "threads of a block along a row")                                               \
  F(block_y, optional, 1, "threads of a block across rows; 1")                                            \
  F(vector, optional, 1, "columns of a thread, which an instruction moves; 1")                            \
  F(tile_y, optional, 1, "rows of a thread; 1")                                                           \
  F(tile_z, optional, 1, "planes of a thread, which it holds in registers while it marches; 1")           \
  F(unroll, optional, 1, "rows (of one plane) or planes that a thread reads at once; rows all, planes 1") \
  F(shared, optional, 0, "1: the inputs go through shared memory; 0")                                     \
  F(registers, optional, 1, "registers of a thread; from what it holds")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

/// The sizes of a configuration, with defaults.
struct Shape {
  Shape(FieldValues values, DType type)
      : bytes(static_cast<double>(size_of(type))),
        columns(values[width]),
        rows(values[height]),
        planes(value_or(values, depth, 1)),
        reach(value_or(values, radius, 1)),
        bx(values[block_x]),
        by(value_or(values, block_y, 1)),
        wide(value_or(values, vector, 1)),
        tall(value_or(values, tile_y, 1)),
        deep(std::min(planes, value_or(values, tile_z, 1))),
        staged(value_or(values, shared, 0) != 0) {
    count = value_or(values, points, 2 * reach * (planes > 1 ? 3 : 2) + 1);
    tile_w = bx * wide, tile_h = by * tall;
    at_once = value_or(values, unroll, planes > 1 ? 1 : tall);
  }
  bool sensible() const {
    for (const double size : {columns, rows, planes, reach, bx, by, wide, tall, deep, count})
      if (!(size >= 1 && size < beyond_any_field)) return false;
    return at_once >= 1;
  }
  /// Elements that a block needs of one plane.
  double area() const { return (tile_w + 2 * reach) * (tile_h + 2 * reach); }
  /// Planes that a block reads.
  double layers() const { return planes > 1 ? deep + 2 * reach : 1; }

  double bytes, columns, rows, planes, reach, bx, by, wide, tall, deep;
  bool staged;
  double count, tile_w, tile_h, at_once;
};

/// Vectors that a thread loads for its results of one plane: besides its own, those of rows above and below and on
/// either side, and those of other planes unless it has marched through them.
double loads_of_plane(const Shape& shape) {
  const double own = shape.tall, beside = shape.tall * 2 * ceil_div(shape.reach, shape.wide), across = 2 * shape.reach;
  const double planes = shape.planes > 1 && shape.deep == 1 ? shape.tall * 2 * shape.reach : 0;
  return own + beside + across + planes;
}

/// What the ports of shared memory and cache and the instructions of a block take, in all planes.
void count_accesses(const Shape& shape, const Throughput& unit, Work& result) {
  const double warps = std::ceil(result.threads / unit.warp), words = std::max(1.0, shape.wide * shape.bytes / 4);
  const double loads = loads_of_plane(shape) * shape.deep, stores = shape.tall * shape.deep;
  const double fill = shape.area() / shape.tile_w / shape.tile_h * stores;
  const double turns = words * unit.cache_register_cycles();
  result.instructions = warps * (2 * loads + 3 * stores);
  if (shape.staged) {
    result.shared_cycles = warps * (loads + fill) * words * unit.shared_register_cycles();
    result.cache_cycles = warps * (fill + stores) * turns;
  } else {
    result.cache_cycles = warps * (loads + stores) * turns;
  }
}

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  const Shape shape(values, type);
  Work result;
  if (!shape.sensible()) return result;
  result.threads = shape.bx * shape.by;
  result.blocks =
      ceil_div(shape.columns, shape.tile_w) * ceil_div(shape.rows, shape.tile_h) * ceil_div(shape.planes, shape.deep);
  const double tile = shape.tile_w * shape.tile_h, word = shape.bytes / 4;
  const double window = shape.planes > 1 ? shape.tall * (shape.deep > 1 ? 2 * shape.reach + 2 : 1)
                                         : std::min(shape.at_once, shape.tall) + 2 * shape.reach;
  result.registers = value_or(values, registers, 24 + shape.wide * word * (window + 2));
  result.shared_bytes = shape.staged ? 2 * shape.area() * shape.bytes : 0;
  result.flops = 2 * shape.count * tile * shape.deep;
  if (type == DType::f64) result.rate = device::Rate::f64;
  result.spill_uses = shape.deep;
  count_accesses(shape, unit, result);

  // Of other planes, a block needs no borders.
  const double read = (shape.area() * shape.deep + tile * (shape.layers() - shape.deep)) * shape.bytes;
  const double written = tile * shape.deep * shape.bytes;
  result.l2_bytes = read * sector_waste(shape.tile_w * shape.bytes) + written;
  // Neighbours in a plane run at the same time and share their borders in L2; those in z do if L2 holds their planes.
  const double between = shape.columns * shape.rows * shape.bytes * 2 * (shape.deep + 2 * shape.reach);
  const bool kept = shape.planes <= 1 || between < static_cast<double>(device.info.l2_bytes);
  const double grid = shape.columns * shape.rows * shape.planes * shape.bytes;
  result.memory_bytes = grid * ((kept ? 1 : shape.layers() / shape.deep) + 1);
  const double own = result.threads * shape.wide * shape.bytes;
  const double in_flight = shape.planes > 1 ? shape.tall * shape.at_once : std::min(shape.at_once, shape.tall);
  result.bytes_in_flight = own * in_flight;
  const double steps = shape.planes > 1 ? shape.deep / std::min(shape.at_once, shape.deep)
                                        : ceil_div(shape.tall, std::min(shape.at_once, shape.tall));
  const double computing = shape.count * std::max(1, device.dependent_cycles);
  result.serial_cycles =
      memory_latency + steps * (memory_latency + computing + (shape.staged ? barrier_cycles + shared_latency : 0));
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const Shape shape(values, type);
  const Work asked = work(values, device, type);
  const double tile = shape.tile_w * shape.tile_h * shape.deep;
  return {{{shape.area() * shape.layers(), shape.tile_w, shape.bytes, false}, {tile, shape.tile_w, shape.bytes, true}},
          tile,
          8 * shape.bytes,
          asked.blocks,
          asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel&, DType type) {
  const auto widest = static_cast<long long>(std::max<std::size_t>(1, 16 / size_of(type)));
  return {{"block_x", {16, 32, 64, 128}},
          {"block_y", {1, 2, 4, 8}},
          {"vector", {1, widest}},
          {"tile_y", {1, 2, 4, 8}},
          {"shared", {0, 1}}};
}

}  // namespace

CandidateTemplate description() {
  return {"stencil",
          "weighted sums of neighbours on a grid",
          {FIELDS(XTUNE_FIELD_ROW)},
          {block_x, block_y, vector, tile_y},
          {shared},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace stencil

// Template convolution: direct convolution of an image with a small filter.

namespace convolution {
namespace {

#define FIELDS(F)                                                                                       \
  F(width, problem, 1, "columns of the image")                                                          \
  F(height, problem, 1, "rows of the image")                                                            \
  F(filter_width, problem, 1, "columns of the filter")                                                  \
  F(filter_height, problem, 1, "rows of the filter")                                                    \
  F(block_x, required, 1, "threads of a block along a row")                                             \
  F(block_y, required, 1, "threads of a block across rows")                                             \
  F(tile_x, optional, 1, "results of a thread along a row; 1")                                          \
  F(tile_y, optional, 1, "results of a thread across rows; 1")                                          \
  F(chunked, optional, 0, "1: a thread's results lie side by side; 0: a block's width apart; 0")        \
  F(shared, optional, 0, "1: the inputs go through shared memory; 0")                                   \
  F(pad, optional, 0, "elements after each row in shared memory; 0")                                    \
  F(constant, optional, 0, "1: the filter lies in constant memory; 1, but 0 with several filters")      \
  F(channels, optional, 1, "input channels that a result sums over; 1")                                 \
  F(outputs, optional, 1, "images or output channels computed side by side; 1")                         \
  F(images, optional, 1, "images; 1")                                                                   \
  F(filters, optional, 1, "output channels; 1")                                                         \
  F(block_f, optional, 1, "output channels of a block; 1")                                              \
  F(thread_f, optional, 1, "output channels of a thread; 1")                                            \
  F(step_channels, optional, 1, "input channels that pass through shared memory at a time; 1")          \
  F(stages, optional, 1, "buffers in shared memory that are filled in turns; 1")                        \
  F(stride, optional, 1, "pixels of the image from result to result; 1")                                \
  F(dilation, optional, 1, "pixels of the image from coefficient to coefficient; 1")                    \
  F(padding, optional, 0, "zeros around the image; as many as give a result for each stride of pixels") \
  F(nhwc, optional, 0, "1: the channels of a pixel are adjacent in memory; 0: its neighbours are; 0")   \
  F(blocks_per_unit, optional, 0, "blocks that registers are rationed for; none")                       \
  F(registers, optional, 1, "registers of a thread; from what it holds")                                \
  F(out_bytes, optional, 1, "bytes of a result; as the inputs")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

/// Distinct inputs along one axis that a thread needs for `tile` results `step` apart under a filter of `length`.
double inputs_along(double tile, double step, double length) {
  return step >= length ? tile * length : length + (tile - 1) * step;
}

/// The sizes of a configuration, with defaults.
struct Shape {
  Shape(FieldValues values, DType type) {
    const auto get = [&](std::size_t field, double fallback) { return value_or(values, field, fallback); };
    bytes = static_cast<double>(size_of(type));
    columns = values[width], lines = values[height], fw = values[filter_width], fh = values[filter_height];
    bx = values[block_x], by = values[block_y], tx = get(tile_x, 1), ty = get(tile_y, 1);
    deep = get(channels, 1), step = std::min(deep, get(step_channels, 1)), buffers = get(stages, 1);
    all_filters = get(filters, 1), bf = std::min(get(block_f, 1), all_filters), tf = std::min(get(thread_f, 1), bf);
    copies = get(outputs, 1) * get(images, 1);
    stretch = get(stride, 1), apart = get(dilation, 1);
    // The extents of the filter on the image.
    reach_w = (fw - 1) * apart + 1, reach_h = (fh - 1) * apart + 1;
    out_w = std::floor((columns + 2 * get(padding, (reach_w - 1) / 2) - reach_w) / stretch) + 1;
    out_h = std::floor((lines + 2 * get(padding, (reach_h - 1) / 2) - reach_h) / stretch) + 1;
    tile_w = bx * tx, tile_h = by * ty;
    input_w = (tile_w - 1) * stretch + reach_w, input_h = (tile_h - 1) * stretch + reach_h;
    staged = get(shared, 0) != 0, chunks = get(chunked, 0) != 0;
    channels_first = get(nhwc, 0) == 0, in_constant = get(constant, all_filters > 1 ? 0 : 1) != 0;
    row = input_w + std::min(get(pad, 0), 1e6);
    result_bytes = get(out_bytes, bytes);
    rationed = get(blocks_per_unit, 0);
  }
  bool sensible() const {
    for (const double size : {columns, lines, out_w, out_h, deep, copies, all_filters})
      if (!(size >= 1 && size < beyond_any_field)) return false;
    for (const double size : {fw, fh, bx, by, tx, ty, bf, tf, step, buffers, stretch, apart})
      if (!(size >= 1 && size < 1e4)) return false;
    return rationed < 1e9;
  }
  /// Elements of the image that a block needs of one channel.
  double area() const { return input_w * input_h; }
  /// Threads of a block that compute the same pixels for other filters.
  double groups() const { return std::max(1.0, std::floor(bf / tf)); }

  double bytes, columns, lines, fw, fh, bx, by, tx, ty, deep, step, buffers, all_filters, bf, tf, copies;
  double stretch, apart, reach_w, reach_h, out_w, out_h, tile_w, tile_h, input_w, input_h, row, result_bytes, rationed;
  bool staged, chunks, channels_first, in_constant;
};

/// Registers, and what inputs and coefficients take of instructions and of the ports of shared memory and cache.
void count_accesses(const Shape& shape, const Throughput& unit, Work& result) {
  const double results = shape.tx * shape.ty, warps = std::ceil(result.threads / unit.warp);
  // Unrolled over the filter, a thread loads an input once for all of its results that need it, as long as the rows in
  // use, one for each row of the filter, fit in the registers.
  const double loads_x = inputs_along(shape.tx, (shape.chunks ? 1 : shape.bx) * shape.stretch, shape.reach_w),
               loads_y = inputs_along(shape.ty, (shape.chunks ? 1 : shape.by) * shape.stretch, shape.reach_h);
  const double held = std::min(loads_x, shape.reach_w + shape.tx) *
                      (loads_y < shape.ty * shape.reach_h ? std::min(shape.ty, shape.reach_h) : 1);
  const double coefficients = shape.fw * shape.fh * shape.deep * shape.tf;
  const double fill = shape.area() * shape.deep * shape.bytes / 4 / unit.warp;
  const double on_the_way =
      shape.buffers > 1 ? (shape.area() + shape.fw * shape.fh * shape.bf) * shape.step / result.threads : 0;
  result.registers = 24 + results * shape.tf + std::min(held, 96.0) + on_the_way + (shape.tf > 1 ? shape.tf : 0);
  result.spill_uses = shape.fw;
  const double loads = loads_x * std::min(loads_y, shape.ty * shape.fh) * shape.deep;
  result.instructions = warps * loads * 1.25;
  const int across = static_cast<int>(std::min(shape.bx, unit.warp));
  const LaneLayout layout{
      static_cast<int>(unit.warp), across,
      static_cast<long long>(std::clamp((shape.chunks ? shape.tx : 1) * shape.stretch, 1.0, 1e9)),
      static_cast<long long>(std::clamp(
          (shape.staged ? shape.row * (shape.chunks ? shape.ty : 1) : shape.columns) * shape.stretch, 1.0, 1e12)),
      1};
  if (shape.staged) {
    const double turns = bank_turns(layout, static_cast<int>(unit.shared_bytes / 4));
    result.shared_cycles = warps * loads * turns + fill * unit.shared_register_cycles();
    result.cache_cycles = fill * unit.cache_register_cycles();
  } else {
    const double turns = std::max(unit.cache_register_cycles(), lines_touched(layout, 32) * 128 / unit.cache_bytes);
    result.cache_cycles = warps * loads * turns;
  }
  // A coefficient from constant memory is an operand of its multiply-add; otherwise it is one more load for all pixels
  // of a thread, from shared memory if several filters share the inputs there.
  if (shape.in_constant) return;
  if (shape.staged && shape.all_filters > 1) {
    result.shared_cycles += (warps * coefficients + shape.fw * shape.fh * shape.deep * shape.bf / unit.warp) *
                            unit.shared_register_cycles();
    result.instructions += warps * coefficients / std::min(4.0, shape.tf);
  } else {
    result.cache_cycles += warps * coefficients * unit.cache_register_cycles();
  }
}

/// Shared memory, and the traffic of L2 and memory.
void count_traffic(const Shape& shape, const device::DeviceModel& device, Work& result) {
  const double coefficients = shape.fw * shape.fh * shape.deep * shape.all_filters * shape.bytes;
  const bool several = shape.all_filters > 1;
  result.shared_bytes =
      shape.staged
          ? shape.buffers * shape.step *
                (shape.row * shape.input_h + (several && !shape.in_constant ? shape.fw * shape.fh * shape.bf : 0)) *
                shape.bytes
          : 0;
  // Pixels of a row are adjacent in memory, or the channels of a pixel that a block reads at a time.
  const double run = (shape.channels_first ? shape.tile_w : shape.step * shape.input_w) * shape.bytes;
  const double waste = shape.channels_first ? std::max(1.0, 32 / run) : sector_waste(shape.step * shape.bytes);
  result.l2_bytes = shape.area() * shape.deep * shape.bytes * waste +
                    shape.tile_w * shape.tile_h * shape.bf * shape.result_bytes +
                    (several ? coefficients * shape.bf / shape.all_filters : 0);
  const double halo = shape.area() / (shape.tile_w * shape.tile_h * shape.stretch * shape.stretch);
  const double image = shape.columns * shape.lines * shape.bytes;
  // Neighbouring blocks run at the same time and find each other's halo in L2 if it can hold a band of rows.
  const bool kept = shape.columns * (shape.tile_h + shape.reach_h) * shape.bytes * 2 * (several ? shape.deep : 1) <
                    static_cast<double>(device.info.l2_bytes);
  const double written = shape.out_w * shape.out_h * shape.result_bytes * shape.all_filters;
  result.memory_bytes =
      shape.copies * (image * shape.deep * (kept ? 1 : halo) + written) + (several ? coefficients : 0);
  result.bytes_in_flight = shape.area() * shape.bytes * shape.step;
}

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  const Shape shape(values, type);
  Work result;
  if (!shape.sensible()) return result;
  result.blocks = ceil_div(shape.out_w, shape.tile_w) * ceil_div(shape.out_h, shape.tile_h) *
                  ceil_div(shape.all_filters, shape.bf) * shape.copies;
  result.threads = shape.bx * shape.by * shape.groups();
  result.blocks_at_most = shape.rationed;
  const double results = shape.tx * shape.ty * shape.tf, warps = std::ceil(result.threads / unit.warp);
  result.flops = 2 * results * shape.fw * shape.fh * shape.deep * warps * unit.warp;
  if (type == DType::f64) result.rate = device::Rate::f64;
  count_accesses(shape, unit, result);
  count_traffic(shape, device, result);
  result.registers = value_or(values, registers, result.registers);
  const double turns = std::ceil(warps / unit.schedulers);
  const double per_warp = results * shape.fw * shape.fh * shape.deep * 2 * unit.warp /
                          (unit.flops_per_cycle(result.rate) / unit.schedulers);
  const double chain = shape.fw * shape.fh * shape.deep * std::max(1, device.dependent_cycles);
  const double latency = (shape.staged ? shared_latency : cache_latency) * shape.fh * shape.deep;
  const double computing = std::max(turns * per_warp, chain) + latency;
  // With another buffer, the next channels are on their way meanwhile.
  const double steps = shape.deep / shape.step;
  const double waiting =
      shape.buffers > 1 ? std::max(0.0, memory_latency - computing / std::max(1.0, steps)) : memory_latency;
  result.serial_cycles = computing + memory_latency + (shape.staged ? steps * (waiting + barrier_cycles) : l2_latency);
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const Shape shape(values, type);
  const Work asked = work(values, device, type);
  return {{{shape.area() * shape.deep, shape.input_w, shape.bytes, false},
           {shape.tile_w * shape.tile_h * shape.bf, shape.tile_w, shape.result_bytes, true}},
          shape.tile_w * shape.tile_h * shape.bf,
          8 * shape.result_bytes,
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

CandidateTemplate description() {
  return {"convolution",
          "direct convolution of an image with a small filter",
          {FIELDS(XTUNE_FIELD_ROW)},
          {block_x, block_y, tile_x, tile_y, block_f, thread_f},
          {shared},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace convolution

}  // namespace xtune::model

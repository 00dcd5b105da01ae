// Template stencil: weighted sums of neighbours on a grid of two or three dimensions.
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
}  // namespace stencil

CandidateTemplate stencil_template() {
  using namespace stencil;
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

}  // namespace xtune::model

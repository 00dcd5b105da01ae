// Templates gemv and spmv: products of a matrix and a vector.
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
  return {{"threads", {64, 128, 256, 512}},
          {"rows", {1, 2, 4, 8}},
          {"vector", {1, vector_widths(type).back()}},
          {"unroll", {1, 2, 4}},
          {"split_k", {1, 2, 4, 8}}};
}

}  // namespace

CandidateTemplate description() {
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

}  // namespace gemv

// Template spmv: y = A * x for a sparse matrix in CSR form.

namespace spmv {
namespace {

#define FIELDS(F)                                                                                      \
  F(rows, problem, 1, "rows of A")                                                                     \
  F(columns, problem, 1, "columns of A")                                                               \
  F(nnz, problem, 1, "stored elements of A")                                                           \
  F(longest, optional, 1, "elements of the longest row; the mean")                                     \
  F(spread, optional, 1, "columns that the elements of neighbouring rows lie in; the rows' mean")      \
  F(threads, required, 1, "threads of a block")                                                        \
  F(lanes, optional, 1, "threads that share a row; 1")                                                 \
  F(vector, optional, 1, "elements that an instruction reads; 1")                                      \
  F(unroll, optional, 1, "vectors of a thread's row that are under way at once; 1")                    \
  F(rows_at_once, optional, 1, "rows whose sums a thread takes part in at once; 1")                    \
  F(balanced, optional, 0, "1: blocks take as many elements as others, not rows; 0")                   \
  F(parts, optional, 1, "balanced: parts of threads * vector * unroll elements that a block takes; 1") \
  F(index_bytes, optional, 1, "bytes of a column's number; 4")

enum : std::size_t { FIELDS(XTUNE_FIELD_NAME) };

/// The sizes of a configuration, with defaults.
struct Shape {
  Shape(FieldValues values, DType type)
      : bytes(static_cast<double>(size_of(type))),
        height(values[rows]),
        width(values[columns]),
        elements(values[nnz]),
        mean(std::max(1.0, elements / height)),
        peak(std::max(mean, value_or(values, longest, mean))),
        window(value_or(values, spread, mean)),
        count(values[threads]),
        across(value_or(values, lanes, 1)),
        wide(value_or(values, vector, 1)),
        ahead(value_or(values, unroll, 1)),
        together(value_or(values, rows_at_once, 1)),
        each_part(count * wide * ahead),
        each_block(each_part * value_or(values, parts, 1)),
        entry(bytes + value_or(values, index_bytes, 4)),
        by_elements(value_or(values, balanced, 0) != 0) {}
  bool sensible() const {
    for (const double size : {height, width, elements, count, across, wide, ahead, together})
      if (!(size >= 1 && size < beyond_any_field)) return false;
    return across <= count;
  }
  /// The first-level cache serves a line per cycle: those of the entries that a warp reads with one instruction, or of
  /// the elements of x that it needs.
  double lines_of_entries(double warp) const {
    const double run = by_elements ? warp * wide : std::min(warp, across) * wide;
    return std::max(warp * wide * bytes / 128, warp * wide / run * std::max(1.0, run * bytes / 128));
  }
  double lines_of_x(double warp) const { return std::min(warp, 1 + (window + warp) * bytes / 128); }

  double bytes, height, width, elements, mean, peak, window, count, across, wide, ahead, together, each_part,
      each_block, entry;
  bool by_elements;
};

/// The parts that depend on whether blocks take rows or elements: blocks, shared memory, and chains of dependent work.
/// Returns the steps in which a thread reads vectors.
double share_out(const Shape& shape, const Throughput& unit, Work& result) {
  if (shape.by_elements) {
    result.blocks = ceil_div(shape.elements, shape.each_block);
    const double trips = shape.each_block / shape.each_part;
    result.shared_bytes = (shape.each_part + shape.count) * (shape.bytes + 4);
    // A product and a mark are written and read; the rows' begins are noted.
    result.shared_cycles = 4 * shape.each_block / unit.warp * shape.bytes / 4;
    const double search = std::log2(std::max(2.0, shape.height)) / 5 * l2_latency;
    const double scan = shape.wide * shape.ahead * 4 + 10 * shared_latency + 4 * barrier_cycles;
    result.serial_cycles = search + trips * (2 * memory_latency + cache_latency + scan);
    return trips;
  }
  const double rows_of_block = shape.count / shape.across * shape.together;
  result.blocks = ceil_div(shape.height, rows_of_block);
  const double at_once = shape.across * shape.wide * shape.ahead, trips = ceil_div(shape.mean, at_once);
  const double levels = std::log2(shape.across + 1);
  const double step = memory_latency + l2_latency + shape.wide * shape.ahead * shape.together;
  result.serial_cycles = memory_latency + trips * step + levels * shared_latency * shape.together;
  // The longest row runs on while all others have ended.
  result.extra_us = (ceil_div(shape.peak, at_once) - trips) * step / unit.clock_GHz * 1e-3;
  return trips;
}

Work work(FieldValues values, const device::DeviceModel& device, DType type) {
  const Throughput unit(device);
  const Shape shape(values, type);
  Work result;
  if (!shape.sensible()) return result;
  result.threads = shape.count;
  const double trips = share_out(shape, unit, result);
  const double each = shape.elements / result.blocks, warps = std::ceil(shape.count / unit.warp);
  const double vectors = shape.wide * shape.ahead * shape.together;
  result.registers = 28 + vectors * shape.entry / 4 + 4 * shape.together;
  result.flops = 2 * each;
  if (type == DType::f64) result.rate = device::Rate::f64;
  // Threads without an element of their row idle through the row's last step.
  const double reads = shape.by_elements ? each / shape.wide / unit.warp : trips * warps * shape.ahead * shape.together;
  const double gathers = reads * shape.wide;
  result.instructions = 4 * reads + 4 * gathers + (shape.by_elements ? 8 * gathers : 0);
  result.cache_cycles = 2 * reads * shape.lines_of_entries(unit.warp) + each / unit.warp * shape.lines_of_x(unit.warp);
  const double x_bytes = std::min(each, std::max(1.0, shape.window)) * 32;
  result.l2_bytes = each * shape.entry + x_bytes + shape.height / result.blocks * (4 + shape.bytes);
  result.memory_bytes = shape.elements * shape.entry + shape.height * (4 + shape.bytes) + shape.width * shape.bytes;
  result.bytes_in_flight = std::min(each, shape.count * vectors) * shape.entry;
  result.spill_uses = trips;
  return result;
}

CarverView carver(FieldValues values, const device::DeviceModel& device, DType type) {
  const Shape shape(values, type);
  const Work asked = work(values, device, type);
  const double each = shape.elements / std::max(1.0, asked.blocks), sums = shape.height / std::max(1.0, asked.blocks);
  return {{{each, each, shape.entry, false}, {sums, sums, shape.bytes, true}},
          sums,
          8 * shape.bytes,
          asked.blocks,
          asked.shared_bytes};
}

std::vector<DefaultParameter> space(const device::DeviceModel&, DType type) {
  return {{"threads", {64, 128, 256, 512}},
          {"lanes", {1, 2, 4, 8, 16, 32}},
          {"vector", {1, vector_widths(type).back()}},
          {"unroll", {1, 2, 4}},
          {"balanced", {0, 1}}};
}

}  // namespace

CandidateTemplate description() {
  return {"spmv",
          "y = A * x for a sparse matrix in CSR form",
          {FIELDS(XTUNE_FIELD_ROW)},
          {threads, lanes, vector},
          {balanced},
          work,
          carver,
          space};
}
#undef FIELDS

}  // namespace spmv

}  // namespace xtune::model

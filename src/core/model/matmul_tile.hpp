// The tile of a matmul configuration, with defaults for fields that are not mapped; only for this directory.
#pragma once

#include <cstddef>

#include "core/model/template.hpp"

namespace xtune::model::matmul {

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

/// Loads both operands into registers, for one k.
void read_operands(const Tile& tile, const Throughput& unit, Port& port);
/// Fills the tiles in shared memory, for one step of k.
void fill_tiles(const Tile& tile, const Throughput& unit, Port& port);

}  // namespace xtune::model::matmul

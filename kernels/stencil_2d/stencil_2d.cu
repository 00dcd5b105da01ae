// A 5-point or 9-point stencil on a row-major grid of any size; what lies outside the grid counts as zero. The
// parameters are macros from -D; README.md describes each.
#include "../common/pack.cuh"

static_assert(POINTS == 5 || POINTS == 9, "POINTS is 5 or 9");
static_assert(ROWS % UNROLL == 0, "a thread's rows are made of whole steps");

/// What a thread needs of a row: its own VECTOR elements, and one on either side.
struct Cells {
  ELEMENT x[VECTOR + 2];
};

/// The cells around `column` of a row; zeros for a row outside the grid. packed: the grid's rows take packs.
__device__ inline Cells load_cells(const ELEMENT* x, int rows, int columns, int row, int column, bool packed) {
  Cells cells = {};
  if (row < 0 || row >= rows) return cells;
  const ELEMENT* const from = x + static_cast<long long>(row) * columns + column;
  if (packed) {
    const Pack<ELEMENT, VECTOR> pack = load_pack<VECTOR>(from);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) cells.x[v + 1] = pack.x[v];
  } else {
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      if (column + v < columns) cells.x[v + 1] = from[v];
    }
  }
  if (column > 0) cells.x[0] = from[-1];
  if (column + VECTOR < columns) cells.x[VECTOR + 1] = from[VECTOR];
  return cells;
}

/// Grid: one dimension, ceil(columns / (BLOCK_X * VECTOR)) * ceil(rows / (BLOCK_Y * ROWS)). Block: (BLOCK_X, BLOCK_Y).
/// A thread computes VECTOR columns of ROWS rows. With 5 points, `corner` does not matter.
extern "C" __global__ void LAUNCH_BOUNDS(BLOCK_X* BLOCK_Y, 1)
    stencil_2d(const ELEMENT* x, ELEMENT* y, int rows, int columns, ELEMENT centre, ELEMENT edge, ELEMENT corner) {
  const int blocks_per_row = ceil_div(columns, BLOCK_X * VECTOR);
  const int block = static_cast<int>(blockIdx.x);
  const int column = (block % blocks_per_row * BLOCK_X + static_cast<int>(threadIdx.x)) * VECTOR;
  const int first = (block / blocks_per_row * BLOCK_Y + static_cast<int>(threadIdx.y)) * ROWS;
  if (column >= columns) return;
  const bool packed = rows_take_packs<VECTOR>(x, columns), packed_out = rows_take_packs<VECTOR>(y, columns);

  Cells window[UNROLL + 2];  // the first row is the one above the row to compute
  window[0] = load_cells(x, rows, columns, first - 1, column, packed);
  window[1] = load_cells(x, rows, columns, first, column, packed);
#pragma unroll 1
  for (int row = first; row < min_of(first + ROWS, rows); row += UNROLL) {
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) window[i + 2] = load_cells(x, rows, columns, row + i + 1, column, packed);
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) {
      if (row + i >= rows) break;
      const Cells &above = window[i], &here = window[i + 1], &below = window[i + 2];
      Pack<ELEMENT, VECTOR> result;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        ELEMENT sum = centre * here.x[v + 1] + edge * (here.x[v] + here.x[v + 2] + above.x[v + 1] + below.x[v + 1]);
        if constexpr (POINTS == 9) sum += corner * (above.x[v] + above.x[v + 2] + below.x[v] + below.x[v + 2]);
        result.x[v] = sum;
      }
      ELEMENT* const to = y + static_cast<long long>(row + i) * columns + column;
      if (packed_out) {
        store_pack<VECTOR>(to, result);
      } else {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
          if (column + v < columns) to[v] = result.x[v];
        }
      }
    }
    window[0] = window[UNROLL];
    window[1] = window[UNROLL + 1];
  }
}

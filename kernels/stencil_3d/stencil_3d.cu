// A star of RADIUS on a grid of planes, rows and columns of any size: every element and its neighbours up to RADIUS
// away along each axis; what lies outside the grid counts as zero. Threads march along z and keep in registers what
// they read of their column. The parameters are macros from -D; README.md describes each.
#include "../common/streaming.cuh"

static_assert(1 <= RADIUS && RADIUS <= 4, "RADIUS is 1 to 4");

using Cells = Pack<ELEMENT, VECTOR>;
constexpr int thread_count = BLOCK_X * BLOCK_Y;
constexpr int side = ceil_div(RADIUS, VECTOR);  // packs on either side of a thread's pack that hold its neighbours
constexpr int tile_rows = BLOCK_Y + 2 * RADIUS, tile_packs = BLOCK_X + 2 * side;

struct Grid {
  const ELEMENT* x;
  int planes, rows, columns;
  bool packed;  // rows take packs

  __device__ long long index(int plane, int row, int column) const {
    return (static_cast<long long>(plane) * rows + row) * columns + column;
  }

  /// VECTOR elements from `column` on, which is a multiple of VECTOR; zeros outside the grid.
  __device__ Cells load(int plane, int row, int column) const {
    Cells cells = {};
    const bool inside = plane >= 0 && plane < planes && row >= 0 && row < rows && column >= 0 && column < columns;
    if (!inside) return cells;
    const ELEMENT* const from = x + index(plane, row, column);
    if (packed) return load_pack<VECTOR>(from);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      if (column + v < columns) cells.x[v] = from[v];
    }
    return cells;
  }
};

#if SHARED
/// A plane's part that a block needs. Two of them take turns, so that one barrier per plane is enough.
__device__ inline void fill_tile(Cells (*tile)[tile_packs], const Grid& grid, const Cells& own, int plane, int first_row,
                                 int first_column) {
  const int thread_x = static_cast<int>(threadIdx.x), thread_y = static_cast<int>(threadIdx.y);
  tile[RADIUS + thread_y][side + thread_x] = own;
  constexpr int above_and_below = 2 * RADIUS * BLOCK_X, beside = 2 * side * BLOCK_Y;
#pragma unroll
  for (int first = 0; first < above_and_below + beside; first += thread_count) {
    const int pack = first + thread_y * BLOCK_X + thread_x;
    if (pack >= above_and_below + beside) break;
    int row, column;
    if (pack < above_and_below) {
      row = pack / BLOCK_X;
      if (row >= RADIUS) row += BLOCK_Y;
      column = side + pack % BLOCK_X;
    } else {
      row = RADIUS + (pack - above_and_below) / (2 * side);
      column = (pack - above_and_below) % (2 * side);
      if (column >= side) column += BLOCK_X;
    }
    tile[row][column] = grid.load(plane, first_row + row - RADIUS, first_column + (column - side) * VECTOR);
  }
}
#endif

/// Grid: one dimension, ceil(columns / (BLOCK_X * VECTOR)) * ceil(rows / BLOCK_Y) * ceil(planes / PLANES). Block:
/// (BLOCK_X, BLOCK_Y). A thread computes VECTOR columns of one row in PLANES planes. w0: weight of the element itself;
/// w1 to w4: of the neighbours at this distance, up to RADIUS.
extern "C" __global__ void LAUNCH_BOUNDS(thread_count, 1)
    stencil_3d(const ELEMENT* x, ELEMENT* y, int planes, int rows, int columns, ELEMENT w0, ELEMENT w1, ELEMENT w2,
               ELEMENT w3, ELEMENT w4) {
  const int blocks_x = ceil_div(columns, BLOCK_X * VECTOR), blocks_y = ceil_div(rows, BLOCK_Y);
  const int block = static_cast<int>(blockIdx.x);
  const int first_column = block % blocks_x * (BLOCK_X * VECTOR);
  const int first_row = block / blocks_x % blocks_y * BLOCK_Y;
  const int first_plane = block / blocks_x / blocks_y * PLANES;
  const int column = first_column + static_cast<int>(threadIdx.x) * VECTOR;
  const int row = first_row + static_cast<int>(threadIdx.y);
  const Grid grid{x, planes, rows, columns, rows_take_packs<VECTOR>(x, columns)};
  const bool packed_out = rows_take_packs<VECTOR>(y, columns);
  const ELEMENT weight[5] = {w0, w1, w2, w3, w4};
#if SHARED
  __shared__ Cells tiles[2][tile_rows][tile_packs];
#endif

  Cells along_z[2 * RADIUS + 1];  // this thread's elements of the planes around the current one
#pragma unroll
  for (int i = 0; i < 2 * RADIUS; ++i) along_z[i] = grid.load(first_plane + i - RADIUS, row, column);
#pragma unroll UNROLL
  for (int plane = first_plane; plane < min_of(first_plane + PLANES, planes); ++plane) {
    along_z[2 * RADIUS] = grid.load(plane + RADIUS, row, column);
    ELEMENT near[(2 * side + 1) * VECTOR];  // the row's elements around this thread's
    Cells sum;
#if SHARED
    Cells(*const tile)[tile_packs] = tiles[(plane - first_plane) % 2];
    fill_tile(tile, grid, along_z[RADIUS], plane, first_row, first_column);
    __syncthreads();
    const auto in_plane = [&](int rows_away, int packs_away) {
      return tile[RADIUS + static_cast<int>(threadIdx.y) + rows_away][side + static_cast<int>(threadIdx.x) + packs_away];
    };
#else
    const auto in_plane = [&](int rows_away, int packs_away) {
      return grid.load(plane, row + rows_away, column + packs_away * VECTOR);
    };
#endif
#pragma unroll
    for (int s = -side; s <= side; ++s) {
      const Cells cells = s == 0 ? along_z[RADIUS] : in_plane(0, s);
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) near[(s + side) * VECTOR + v] = cells.x[v];
    }
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) sum.x[v] = weight[0] * near[side * VECTOR + v];
#pragma unroll
    for (int r = 1; r <= RADIUS; ++r) {
      const Cells above = in_plane(-r, 0), below = in_plane(r, 0);
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        const int centre = side * VECTOR + v;
        sum.x[v] += weight[r] * (near[centre - r] + near[centre + r] + above.x[v] + below.x[v] +
                                 along_z[RADIUS - r].x[v] + along_z[RADIUS + r].x[v]);
      }
    }
    if (row < rows && column < columns) {
      ELEMENT* const to = y + grid.index(plane, row, column);
      if (packed_out) {
        store_pack_once<STREAM>(to, sum);
      } else {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
          if (column + v < columns) to[v] = sum.x[v];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 2 * RADIUS; ++i) along_z[i] = along_z[i + 1];
  }
}

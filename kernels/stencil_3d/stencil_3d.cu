// A star of RADIUS on a grid of planes, rows and columns of any size: every element and its neighbours up to RADIUS
// away along each axis; what lies outside the grid counts as zero. Threads march along z and keep in registers what
// they read of their column. The parameters are macros from -D; README.md describes each.
#include "../common/streaming.cuh"

static_assert(1 <= RADIUS && RADIUS <= 4, "RADIUS is 1 to 4");

using Cells = Pack<ELEMENT, VECTOR>;
constexpr int thread_count = BLOCK_X * BLOCK_Y, block_rows = BLOCK_Y * ROWS;
constexpr int side = ceil_div(RADIUS, VECTOR);  // packs on either side of a thread's pack that hold its neighbours
constexpr int window = 2 * RADIUS + 1;

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
/// The part of a plane that a block needs, with RADIUS rows and `side` packs around it.
struct Tile {
  static constexpr int rows = block_rows + 2 * RADIUS, packs = BLOCK_X + 2 * side;
  Cells cells[rows][packs];
};

/// What lies around the block's own part of a plane; every thread moves some of it.
class Border {
 public:
  /// Starts reading it into registers; store() writes it to shared memory.
  __device__ void load(const Grid& grid, int plane, int first_row, int first_column) {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      const Place place = place_of(i);
      staged_[i] = exists(i) ? grid.load(plane, first_row + place.row - RADIUS,
                                         first_column + (place.pack - side) * VECTOR)
                             : Cells{};
    }
  }

  __device__ void store(Tile& tile) const {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      if (exists(i)) tile.cells[place_of(i).row][place_of(i).pack] = staged_[i];
    }
  }

 private:
  static constexpr int above_and_below = 2 * RADIUS * BLOCK_X, beside = 2 * side * block_rows;
  static constexpr int slots = ceil_div(above_and_below + beside, thread_count);

  struct Place {
    int row, pack;
  };
  static __device__ int number(int i) {
    return i * thread_count + static_cast<int>(threadIdx.y) * BLOCK_X + static_cast<int>(threadIdx.x);
  }
  static __device__ bool exists(int i) { return number(i) < above_and_below + beside; }
  static __device__ Place place_of(int i) {
    const int n = number(i), m = n - above_and_below;
    if (n < above_and_below) {
      const int row = n / BLOCK_X;
      return {row < RADIUS ? row : row + block_rows, side + n % BLOCK_X};
    }
    const int pack = m % (2 * side);
    return {RADIUS + m / (2 * side), pack < side ? pack : pack + BLOCK_X};
  }

  Cells staged_[slots];
};
#endif

/// A thread's results in one plane: VECTOR columns of ROWS rows.
struct Sums {
  Cells rows[ROWS];

  /// Adds `weight` times the cells to row i.
  __device__ void add(int i, ELEMENT weight, const Cells& cells) {
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) rows[i].x[v] += weight * cells.x[v];
  }

  /// in_plane(row, pack): the cells this many rows below the thread's first row, and packs right of its pack.
  template <typename InPlane>
  __device__ void compute(const Cells (*along_z)[window], const ELEMENT* weight, const InPlane& in_plane) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      ELEMENT near[(2 * side + 1) * VECTOR];  // the row's elements around this thread's
#pragma unroll
      for (int s = -side; s <= side; ++s) {
        const Cells cells = s == 0 ? along_z[i][RADIUS] : in_plane(i, s);
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) near[(s + side) * VECTOR + v] = cells.x[v];
      }
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        const int centre = side * VECTOR + v;
        ELEMENT sum = weight[0] * near[centre];
#pragma unroll
        for (int r = 1; r <= RADIUS; ++r) {
          sum += weight[r] * (near[centre - r] + near[centre + r] +
                              (along_z[i][RADIUS - r].x[v] + along_z[i][RADIUS + r].x[v]));
        }
        rows[i].x[v] = sum;
      }
    }
#pragma unroll
    for (int row = -RADIUS; row < ROWS + RADIUS; ++row) {
      const Cells cells = 0 <= row && row < ROWS ? along_z[row][RADIUS] : in_plane(row, 0);
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        const int distance = row < i ? i - row : row - i;
        if (1 <= distance && distance <= RADIUS) add(i, weight[distance], cells);
      }
    }
  }
};

__device__ inline void store_row(ELEMENT* to, const Cells& cells, int columns_left, bool packed) {
  if (packed && STREAM) {
    stream_pack<VECTOR>(to, cells);
  } else if (packed) {
    store_pack<VECTOR>(to, cells);
  } else {
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      if (v < columns_left) to[v] = cells.x[v];
    }
  }
}

/// Grid: one dimension, ceil(columns / (BLOCK_X * VECTOR)) * ceil(rows / (BLOCK_Y * ROWS)) * ceil(planes / PLANES).
/// Block: (BLOCK_X, BLOCK_Y). A thread computes VECTOR columns of ROWS rows in PLANES planes. w0: weight of the element
/// itself; w1 to w4: of the neighbours at this distance, up to RADIUS.
extern "C" __global__ void LAUNCH_BOUNDS(thread_count, 1)
    stencil_3d(const ELEMENT* x, ELEMENT* y, int planes, int rows, int columns, ELEMENT w0, ELEMENT w1, ELEMENT w2,
               ELEMENT w3, ELEMENT w4) {
  const int blocks_x = ceil_div(columns, BLOCK_X * VECTOR), blocks_y = ceil_div(rows, block_rows);
  const int block = static_cast<int>(blockIdx.x);
  const int first_column = block % blocks_x * (BLOCK_X * VECTOR);
  const int first_row = block / blocks_x % blocks_y * block_rows;
  const int first_plane = block / blocks_x / blocks_y * PLANES, end = min_of(first_plane + PLANES, planes);
  const int thread_x = static_cast<int>(threadIdx.x), thread_y = static_cast<int>(threadIdx.y);
  const int column = first_column + thread_x * VECTOR, row = first_row + thread_y * ROWS;
  const Grid grid{x, planes, rows, columns, rows_take_packs<VECTOR>(x, columns)};
  const bool packed_out = rows_take_packs<VECTOR>(y, columns);
  const ELEMENT weight[5] = {w0, w1, w2, w3, w4};

  Cells along_z[ROWS][window];  // this thread's elements of the planes around the current one
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int z = 0; z < window; ++z) along_z[i][z] = grid.load(first_plane + z - RADIUS, row + i, column);
  }
#if SHARED
  __shared__ Tile tiles[2];  // in turns, so that one barrier per plane is enough
  const auto fill = [&](Tile& tile, const Border& border) {
    border.store(tile);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) tile.cells[RADIUS + thread_y * ROWS + i][side + thread_x] = along_z[i][RADIUS];
  };
  Border border;
  border.load(grid, first_plane, first_row, first_column);
  fill(tiles[0], border);
#endif
#pragma unroll UNROLL
  for (int plane = first_plane; plane < end; ++plane) {
    const bool more = plane + 1 < end;
    Cells next[ROWS];  // on its way while the current plane is computed
#pragma unroll
    for (int i = 0; i < ROWS; ++i) next[i] = more ? grid.load(plane + RADIUS + 1, row + i, column) : Cells{};
#if SHARED
    if (more) border.load(grid, plane + 1, first_row, first_column);
    __syncthreads();
    const Tile& tile = tiles[(plane - first_plane) % 2];
    const auto in_plane = [&](int rows_away, int packs_away) {
      return tile.cells[RADIUS + thread_y * ROWS + rows_away][side + thread_x + packs_away];
    };
#else
    const auto in_plane = [&](int rows_away, int packs_away) {
      return grid.load(plane, row + rows_away, column + packs_away * VECTOR);
    };
#endif
    Sums sums;
    sums.compute(along_z, weight, in_plane);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      if (row + i < rows && column < columns)
        store_row(y + grid.index(plane, row + i, column), sums.rows[i], columns - column, packed_out);
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int z = 0; z < window - 1; ++z) along_z[i][z] = along_z[i][z + 1];
      along_z[i][window - 1] = next[i];
    }
#if SHARED
    if (more) fill(tiles[(plane + 1 - first_plane) % 2], border);
#endif
  }
}

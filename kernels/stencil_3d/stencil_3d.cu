// A star of RADIUS on a grid of planes, rows and columns of any size: every element and its neighbours up to RADIUS
// away along each axis; what lies outside the grid counts as zero. Threads march along z and keep in registers what
// they read of their column. The parameters are macros from -D; README.md describes each.
#include "../common/async_copy.cuh"
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

  __device__ bool contains(int plane, int row, int column) const {
    return plane >= 0 && plane < planes && row >= 0 && row < rows && column >= 0 && column < columns;
  }

  /// VECTOR elements from `column` on, which is a multiple of VECTOR; zeros outside the grid.
  __device__ Cells load(int plane, int row, int column) const {
    Cells cells = {};
    if (!contains(plane, row, column)) return cells;
    const ELEMENT* const from = x + index(plane, row, column);
    if (packed) return load_pack<VECTOR>(from);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      if (column + v < columns) cells.x[v] = from[v];
    }
    return cells;
  }

#if AHEAD > 0
  /// Starts copying what load() returns to shared memory.
  __device__ void copy(Cells& to, int plane, int row, int column) const {
    const bool inside = contains(plane, row, column);
    const ELEMENT* const from = inside ? x + index(plane, row, column) : x;
    if (packed) {
      async_copy<static_cast<int>(sizeof(Cells))>(&to, from, inside);
      return;
    }
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      const bool exists = inside && column + v < columns;
      async_copy<static_cast<int>(sizeof(ELEMENT))>(&to.x[v], exists ? from + v : x, exists);
    }
  }
#endif
};

#if SHARED
static_assert(AHEAD == 0 || HAS_ASYNC_COPY, "copies to shared memory that bypass registers");

/// The part of a plane that a block needs, with RADIUS rows and `side` packs around it.
struct Tile {
  static constexpr int rows = block_rows + 2 * RADIUS, packs = BLOCK_X + 2 * side;
  Cells cells[rows][packs];
};

/// What lies around the block's own part of a plane; every thread moves some of it.
class Border {
 public:
#if AHEAD > 0
  /// Starts copying it to shared memory.
  static __device__ void copy(Tile& tile, const Grid& grid, int plane, int first_row, int first_column) {
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      const Place place = place_of(i);
      if (exists(i)) {
        grid.copy(tile.cells[place.row][place.pack], plane, first_row + place.row - RADIUS,
                  first_column + (place.pack - side) * VECTOR);
      }
    }
  }
#else
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
#endif

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

#if AHEAD == 0
  Cells staged_[slots];
#endif
};
#endif

#if AHEAD > 0
/// A block's tiles of the planes from the current one on, in dynamic shared memory: one for every plane up to RADIUS
/// away, and AHEAD that are on their way.
class TilesAhead {
 public:
  /// The block computes the planes [first_plane, end).
  __device__ TilesAhead(const Grid& grid, int first_plane, int end, int first_row, int first_column)
      : grid_(grid), first_plane_(first_plane), end_(end), first_row_(first_row), first_column_(first_column) {
#pragma unroll
    for (int i = 0; i < RADIUS + AHEAD; ++i) copy(first_plane + i);
    async_copy_wait<AHEAD>();
  }

  /// This thread's cells of a plane that has arrived. It has copied these itself.
  __device__ Cells own(int plane, int i) const {
    return tile(plane).cells[RADIUS + own_row() + i][side + static_cast<int>(threadIdx.x)];
  }

  /// Waits for the plane RADIUS after this one, and starts copying another. Returns this one's tile.
  __device__ const Tile& advance(int plane) const {
    async_copy_wait<AHEAD - 1>();
    __syncthreads();  // what others have copied is there, and the tile before this one is free
    copy(plane + RADIUS + AHEAD);
    return tile(plane);
  }

 private:
  static constexpr int count = RADIUS + AHEAD + 1;

  static __device__ int own_row() { return static_cast<int>(threadIdx.y) * ROWS; }
  __device__ Tile& tile(int plane) const {
    extern __shared__ float4 shared[];
    return reinterpret_cast<Tile*>(shared)[(plane - first_plane_) % count];
  }
  __device__ void copy(int plane) const {
    if (plane < end_ + RADIUS) {
      Tile& to = tile(plane);
      Border::copy(to, grid_, plane, first_row_, first_column_);
      const int x = static_cast<int>(threadIdx.x);
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
        grid_.copy(to.cells[RADIUS + own_row() + i][side + x], plane, first_row_ + own_row() + i,
                   first_column_ + x * VECTOR);
      }
    }
    async_copy_commit();
  }

  const Grid& grid_;
  int first_plane_, end_, first_row_, first_column_;
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
/// Block: (BLOCK_X, BLOCK_Y). Dynamic shared memory, with AHEAD > 0: RADIUS + AHEAD + 1 tiles. A thread computes VECTOR
/// columns of ROWS rows in PLANES planes. w0: weight of the element
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

  constexpr int own_planes = AHEAD > 0 ? RADIUS : window;  // that are read without shared memory
  Cells along_z[ROWS][window];  // this thread's elements of the planes around the current one
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int z = 0; z < own_planes; ++z) along_z[i][z] = grid.load(first_plane + z - RADIUS, row + i, column);
  }
#if AHEAD > 0
  const TilesAhead tiles(grid, first_plane, end, first_row, first_column);
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int z = RADIUS; z < window - 1; ++z) along_z[i][z] = tiles.own(first_plane + z - RADIUS, i);
  }
#elif SHARED
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
#if AHEAD > 0
    const Tile& tile = tiles.advance(plane);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) along_z[i][window - 1] = tiles.own(plane + RADIUS, i);
#else
    const bool more = plane + 1 < end;
    Cells next[ROWS];  // on its way while the current plane is computed
#pragma unroll
    for (int i = 0; i < ROWS; ++i) next[i] = more ? grid.load(plane + RADIUS + 1, row + i, column) : Cells{};
#endif
#if SHARED && AHEAD == 0
    if (more) border.load(grid, plane + 1, first_row, first_column);
    __syncthreads();
    const Tile& tile = tiles[(plane - first_plane) % 2];
#endif
#if SHARED
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
#if AHEAD == 0
      along_z[i][window - 1] = next[i];
#endif
    }
#if SHARED && AHEAD == 0
    if (more) fill(tiles[(plane + 1 - first_plane) % 2], border);
#endif
  }
}

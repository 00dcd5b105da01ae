// y[j][i] = x[i][j] for a row-major f32 matrix of any size, with square tiles in shared memory: both reads and
// writes then go along rows. The parameters are macros from -D; README.md describes each.
#include "../common/pack.cuh"

constexpr int threads_x = TILE / VECTOR;
static_assert(TILE % VECTOR == 0, "a tile row is made of whole vectors");

/// Reads the TILE x TILE tile of x that starts at (first_row, first_column), as far as it lies in the matrix.
__device__ inline void read_tile(float (*tile)[TILE + PAD], const float* x, int rows, int columns, int first_row,
                                 int first_column) {
  const bool packed = rows_take_packs<VECTOR>(x, columns);
  const int tile_column = static_cast<int>(threadIdx.x) * VECTOR, column = first_column + tile_column;
#pragma unroll
  for (int i = 0; i < ceil_div(TILE, ROWS); ++i) {
    const int tile_row = i * ROWS + static_cast<int>(threadIdx.y), row = first_row + tile_row;
    if ((TILE % ROWS != 0 && tile_row >= TILE) || row >= rows || column >= columns) continue;
    const float* const from = x + static_cast<long long>(row) * columns + column;
    if (packed) {
      const Pack<float, VECTOR> pack = load_pack<VECTOR>(from);
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) tile[tile_row][tile_column + v] = pack.x[v];
    } else {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        if (column + v < columns) tile[tile_row][tile_column + v] = from[v];
      }
    }
  }
}

/// Writes the tile's columns as rows of y, which has `rows` rows of `columns` elements, from (first_row, first_column)
/// on.
__device__ inline void write_tile(const float (*tile)[TILE + PAD], float* y, int rows, int columns, int first_row,
                                  int first_column) {
  const bool packed = rows_take_packs<VECTOR>(y, columns);
  const int tile_column = static_cast<int>(threadIdx.x) * VECTOR, column = first_column + tile_column;
#pragma unroll
  for (int i = 0; i < ceil_div(TILE, ROWS); ++i) {
    const int tile_row = i * ROWS + static_cast<int>(threadIdx.y), row = first_row + tile_row;
    if ((TILE % ROWS != 0 && tile_row >= TILE) || row >= rows || column >= columns) continue;
    float* const to = y + static_cast<long long>(row) * columns + column;
    if (packed) {
      Pack<float, VECTOR> pack;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) pack.x[v] = tile[tile_column + v][tile_row];
      store_pack<VECTOR>(to, pack);
    } else {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        if (column + v < columns) to[v] = tile[tile_column + v][tile_row];
      }
    }
  }
}

/// x: rows x columns; y: columns x rows. Grid: one dimension, ceil(columns / (TILE * TILES)) * ceil(rows / TILE).
/// Block: (TILE / VECTOR, ROWS). A block moves TILES tiles of x, one right of the other.
extern "C" __global__ void LAUNCH_BOUNDS(threads_x* ROWS, 1)
    transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[TILE][TILE + PAD];
  const int blocks_per_row = ceil_div(columns, TILE * TILES);
  const int block = static_cast<int>(blockIdx.x);
  const int first_row = block / blocks_per_row * TILE, first_column = block % blocks_per_row * (TILE * TILES);
#pragma unroll 1
  for (int t = 0; t < TILES; ++t) {
    if (t > 0) __syncthreads();  // the tile is free again
    read_tile(tile, x, rows, columns, first_row, first_column + t * TILE);
    __syncthreads();
    write_tile(tile, y, columns, rows, first_column + t * TILE, first_row);
  }
}

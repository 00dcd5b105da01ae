// y[j][i] = x[i][j] for a row-major matrix of any size, with elements of 1, 2 or 4 bytes, through tiles in shared
// memory: both reads and writes then go along rows. The parameters are macros from -D; README.md describes each.
#include "../common/pack.cuh"

template <int BYTES>
struct UnitOf;
template <>
struct UnitOf<1> {
  using type = unsigned char;
};
template <>
struct UnitOf<2> {
  using type = unsigned short;
};
template <>
struct UnitOf<4> {
  using type = unsigned int;
};
using Unit = UnitOf<ELEMENT_BYTES>::type;

// The tile consists of words: word_units elements of a column of x, which are neighbours in a row of y.
constexpr int word_units = 4 / ELEMENT_BYTES, unit_bits = 8 * ELEMENT_BYTES;
constexpr int write_units = VECTOR > word_units ? VECTOR : word_units;
constexpr int read_threads = TILE_N / VECTOR, write_threads = TILE_M / write_units;  // along a row of x, of y
constexpr int tile_words = TILE_M / word_units;                                      // of one column of x
static_assert(TILE_M % write_units == 0 && TILE_N % VECTOR == 0, "a tile's rows and columns are made of whole packs");
static_assert(THREADS % read_threads == 0 && THREADS % write_threads == 0, "the threads form whole rows");

// An odd distance between columns: neither reads nor writes of it meet in a bank.
using Tile = unsigned int[TILE_N][tile_words + 1 - tile_words % 2];

/// VECTOR elements of a row of x, from the address of its first column in the tile on; zeros beyond its end.
__device__ inline Pack<Unit, VECTOR> read_pack(const Unit* from, bool packed, int thread, int columns_left) {
  Pack<Unit, VECTOR> pack = {};
  if (packed) {
    if (thread * VECTOR >= columns_left) return pack;
    if constexpr (STREAM) return load_pack_once<VECTOR>(from + thread * VECTOR);
    return load_pack<VECTOR>(from + thread * VECTOR);
  }
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) {
    const int column = v * read_threads + thread;
    if (column < columns_left) pack.x[v] = from[column];
  }
  return pack;
}

/// Reads the tile of x that starts at (first_row, first_column), as far as it lies in the matrix.
__device__ inline void read_tile(Tile& tile, const Unit* x, int rows, int columns, int first_row, int first_column) {
  constexpr int steps = ceil_div(tile_words * read_threads, THREADS), step_words = THREADS / read_threads;
  const bool packed = rows_take_packs<VECTOR>(x, columns);
  const int thread = static_cast<int>(threadIdx.x) % read_threads;
  const int first_word = static_cast<int>(threadIdx.x) / read_threads;
  const Unit* const from = x + static_cast<long long>(first_row) * columns + first_column;
  Pack<Unit, VECTOR> pack[steps][word_units] = {};
#pragma unroll
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int w = 0; w < word_units; ++w) {
      const int word = first_word + i * step_words, row = word * word_units + w;
      if (word >= tile_words || first_row + row >= rows) continue;
      pack[i][w] = read_pack(from + static_cast<long long>(row) * columns, packed, thread, columns - first_column);
    }
  }
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    const int word = first_word + i * step_words;
    if (word >= tile_words) continue;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      unsigned int units = 0;
#pragma unroll
      for (int w = 0; w < word_units; ++w) units |= static_cast<unsigned int>(pack[i][w].x[v]) << w * unit_bits % 32;
      tile[packed ? thread * VECTOR + v : v * read_threads + thread][word] = units;
    }
  }
}

/// Writes the tile's columns as rows of y, which has `rows` rows of `columns` elements, from (first_row, first_column)
/// on.
__device__ inline void write_tile(const Tile& tile, Unit* y, int rows, int columns, int first_row, int first_column) {
  const bool packed = rows_take_packs<write_units>(y, columns);
  const int thread = static_cast<int>(threadIdx.x) % write_threads;
#pragma unroll
  for (int i = 0; i < ceil_div(TILE_N * write_threads, THREADS); ++i) {
    const int tile_row = i * (THREADS / write_threads) + static_cast<int>(threadIdx.x) / write_threads;
    const int row = first_row + tile_row;
    if (tile_row >= TILE_N || row >= rows) continue;
    Unit* const to = y + static_cast<long long>(row) * columns + first_column;
    if (packed) {
      if (first_column + thread * write_units >= columns) continue;
      Pack<Unit, write_units> pack;
#pragma unroll
      for (int v = 0; v < write_units; ++v) {
        const unsigned int units = tile[tile_row][thread * (write_units / word_units) + v / word_units];
        pack.x[v] = static_cast<Unit>(units >> v % word_units * unit_bits);
      }
      if constexpr (STREAM) {
        store_pack_once<write_units>(to + thread * write_units, pack);
      } else {
        store_pack<write_units>(to + thread * write_units, pack);
      }
    } else {
#pragma unroll
      for (int v = 0; v < write_units; ++v) {
        const int column = v * write_threads + thread;
        if (first_column + column >= columns) continue;
        to[column] = static_cast<Unit>(tile[tile_row][column / word_units] >> column % word_units * unit_bits);
      }
    }
  }
}

/// x: rows x columns; y: columns x rows. Grid: one dimension, ceil(columns / TILE_N) * ceil(rows / TILE_M). Block:
/// THREADS. raster: rows of tiles that the blocks go down before they move on along the columns; 0: row after row.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS, 1)
    transpose(const Unit* x, Unit* y, int rows, int columns, int raster) {
  __shared__ Tile tile;
  const int tiles_down = ceil_div(rows, TILE_M), tiles_across = ceil_div(columns, TILE_N);
  const int block = static_cast<int>(blockIdx.x);
  const int height = raster > 0 ? raster : 1, strip = block / (height * tiles_across);
  const int in_strip = block % (height * tiles_across), rows_here = min_of(height, tiles_down - strip * height);
  const int first_row = (strip * height + in_strip % rows_here) * TILE_M;
  const int first_column = in_strip / rows_here * TILE_N;
  read_tile(tile, x, rows, columns, first_row, first_column);
  __syncthreads();
  write_tile(tile, y, columns, rows, first_column, first_row);
}

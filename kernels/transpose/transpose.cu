// y[j][i] = x[i][j] for a row-major matrix of any size, with elements of 1, 2 or 4 bytes, through tiles in shared
// memory: both reads and writes then go along rows. The parameters are macros from -D; README.md describes each.
#include "../common/stretch.cuh"

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

/// VECTOR elements of x from index on; x is aligned and has `length` elements.
__device__ inline Pack<Unit, VECTOR> read_pack(const Unit* x, long long index, bool aligned, long long length) {
  if (aligned) return load_pack<VECTOR>(x + index);
  const int shift = static_cast<int>(index % VECTOR);
  const long long first = index - shift;
  if (first + 2 * VECTOR <= length) {
    return cut_pack<VECTOR>(load_pack<VECTOR>(x + first), load_pack<VECTOR>(x + first + VECTOR), shift);
  }
  Pack<Unit, VECTOR> pack = {};
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) {
    if (index + v < length) pack.x[v] = x[index + v];
  }
  return pack;
}

/// Reads the tile of x that starts at (first_row, first_column), as far as it lies in the matrix. What is beyond the
/// end of a row is not zero, but of the next row.
__device__ inline void read_tile(Tile& tile, const Unit* x, int rows, int columns, int first_row, int first_column) {
  constexpr int steps = ceil_div(tile_words * read_threads, THREADS), step_words = THREADS / read_threads;
  const bool aligned = columns % VECTOR == 0;
  const int tile_column = static_cast<int>(threadIdx.x) % read_threads * VECTOR, column = first_column + tile_column;
  const int first_word = static_cast<int>(threadIdx.x) / read_threads;
  const long long length = static_cast<long long>(rows) * columns;
  Pack<Unit, VECTOR> pack[steps][word_units] = {};
#pragma unroll
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int w = 0; w < word_units; ++w) {
      const int word = first_word + i * step_words, row = first_row + word * word_units + w;
      if (word >= tile_words || row >= rows || column >= columns) continue;
      pack[i][w] = read_pack(x, static_cast<long long>(row) * columns + column, aligned, length);
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
      tile[tile_column + v][word] = units;
    }
  }
}

__device__ inline Unit unit_of(const unsigned int* words, int index) {
  return static_cast<Unit>(words[index / word_units] >> index % word_units * unit_bits);
}

/// write_units units from the index-th on, in one or two words for each word of the result.
__device__ inline Pack<Unit, write_units> pack_of(const unsigned int* words, int index) {
  constexpr int count = write_units / word_units;
  const unsigned int* const first = words + index / word_units;
  const int bits = index % word_units * unit_bits;
  unsigned int result[count];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const unsigned int low = first[i], high = bits != 0 ? first[i + 1] : 0;
    result[i] = static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) >> bits);
  }
  Pack<Unit, write_units> pack;
  memcpy(&pack, result, sizeof pack);
  return pack;
}

/// Writes the tile's columns as rows of y, which has `rows` rows of `columns` elements, from (first_row, first_column)
/// on. Where a row of the tile begins between two packs of y, its first thread writes its first and its last units.
__device__ inline void write_tile(const Tile& tile, Unit* y, int rows, int columns, int first_row, int first_column) {
  const int thread = static_cast<int>(threadIdx.x) % write_threads;
#pragma unroll
  for (int i = 0; i < ceil_div(TILE_N * write_threads, THREADS); ++i) {
    const int tile_row = i * (THREADS / write_threads) + static_cast<int>(threadIdx.x) / write_threads;
    const int row = first_row + tile_row;
    if (tile_row >= TILE_N || row >= rows) continue;
    Unit* const to = y + static_cast<long long>(row) * columns + first_column;
    const int skew = static_cast<int>(reinterpret_cast<size_t>(to) / sizeof(Unit) % write_units);
    const int first = thread * write_units - skew;
    if (first >= 0 && first_column + first + write_units <= columns) {
      store_pack<write_units>(to + first, pack_of(tile[tile_row], first));
      continue;
    }
#pragma unroll
    for (int v = 0; v < write_units; ++v) {
      const int unit = first + v >= 0 ? first + v : first + v + TILE_M;
      if (first_column + unit < columns) to[unit] = unit_of(tile[tile_row], unit);
    }
  }
}

/// x: rows x columns, aligned to 16 bytes; y: columns x rows. Grid: one dimension, ceil(columns / TILE_N) *
/// ceil(rows / TILE_M). Block: THREADS. raster: rows of tiles that the blocks go down before they move on along the
/// columns; 0: row after row.
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

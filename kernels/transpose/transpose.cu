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
// With ALIGN, what a block writes of a row of y begins at a sector, up to `halo` elements before the tile.
constexpr int sector_units = 32 / ELEMENT_BYTES, halo = ALIGN ? sector_units : 0;
constexpr int read_threads = TILE_N / VECTOR, write_threads = TILE_M / WRITE;  // along a row of x, of y
constexpr int tile_words = (TILE_M + halo) / word_units;                       // of one column of x
static_assert(TILE_M % WRITE == 0 && TILE_N % VECTOR == 0, "a tile's rows and columns are made of whole packs");
static_assert(THREADS % read_threads == 0 && THREADS % write_threads == 0, "the threads form whole rows");
static_assert(WRITE % word_units == 0, "whole words are written");

// A slot holds the tile's part of one column of x. Neighbouring threads read packs into neighbouring slots: where these
// begin keeps the lanes of a warp off each other's banks.
constexpr int lanes_apart = max_of(lane_count / read_threads, 1);
constexpr int pitch = (ceil_div(tile_words, lanes_apart) / 2 * 2 + 1) * lanes_apart;
using Tile = unsigned int[TILE_N][pitch];
__device__ inline int column_of(int slot) { return slot % read_threads * VECTOR + slot / read_threads; }

__device__ inline int units_beyond(const Unit* at, int units) {
  return static_cast<int>(static_cast<unsigned int>(reinterpret_cast<size_t>(at)) / sizeof(Unit) % units);
}

/// VECTOR elements of a row of x in words; fewer than a word's are in the lowest bits. Compilers give each small element
/// that is kept as such a whole register.
constexpr int row_words = ceil_div(VECTOR * ELEMENT_BYTES, 4);
struct RowPack {
  unsigned int word[row_words];

  __device__ static RowPack of(const Pack<Unit, VECTOR>& pack) {
    RowPack row = {};
    memcpy(row.word, &pack, sizeof pack);
    return row;
  }

  /// The elements from `at` on, which may be anywhere. end: the end of x, after which nothing is read.
  __device__ static RowPack read(const Unit* at, bool aligned, const Unit* end) {
    if (aligned) return of(load_pack<VECTOR>(at));
    const int shift = units_beyond(at, VECTOR);
    const Unit* const first = at - shift;
    if (first + 2 * VECTOR <= end) {
      return of(cut_pack<VECTOR>(load_pack<VECTOR>(first), load_pack<VECTOR>(first + VECTOR), shift));
    }
    Pack<Unit, VECTOR> pack = {};
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      if (at + v < end) pack.x[v] = at[v];
    }
    return of(pack);
  }
};

#if ELEMENT_BYTES == 4
__device__ inline void gather(unsigned int (&word)[VECTOR], const RowPack (&row)[1]) {
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) word[v] = row[0].word[v];
}
#else
/// The v-th word consists of the v-th elements of the rows.
__device__ inline void gather(unsigned int (&word)[VECTOR], const RowPack (&row)[word_units]) {
#if VECTOR * ELEMENT_BYTES < 4
  constexpr unsigned int mask = (1u << unit_bits) - 1;
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) {
    word[v] = 0;
#pragma unroll
    for (int w = 0; w < word_units; ++w) word[v] |= (row[w].word[0] >> v * unit_bits & mask) << w * unit_bits;
  }
#else
#pragma unroll
  for (int k = 0; k < row_words; ++k) {
#if ELEMENT_BYTES == 2
    word[2 * k] = __byte_perm(row[0].word[k], row[1].word[k], 0x5410);
    word[2 * k + 1] = __byte_perm(row[0].word[k], row[1].word[k], 0x7632);
#else
    const unsigned int low_01 = __byte_perm(row[0].word[k], row[1].word[k], 0x5140);
    const unsigned int high_01 = __byte_perm(row[0].word[k], row[1].word[k], 0x7362);
    const unsigned int low_23 = __byte_perm(row[2].word[k], row[3].word[k], 0x5140);
    const unsigned int high_23 = __byte_perm(row[2].word[k], row[3].word[k], 0x7362);
    word[4 * k] = __byte_perm(low_01, low_23, 0x5410);
    word[4 * k + 1] = __byte_perm(low_01, low_23, 0x7632);
    word[4 * k + 2] = __byte_perm(high_01, high_23, 0x5410);
    word[4 * k + 3] = __byte_perm(high_01, high_23, 0x7632);
#endif
  }
#endif
}
#endif

/// Reads the tile of x that starts at (first_row, first_column), as far as it lies in the matrix; first_row may be
/// negative. What is beyond the end of a row is not zero, but of the next row.
__device__ inline void read_tile(Tile& tile, const Unit* x, int rows, int columns, int first_row, int first_column) {
  constexpr int steps = ceil_div(tile_words * read_threads, THREADS), step_words = THREADS / read_threads;
  const bool aligned = columns % VECTOR == 0;
  const int thread = static_cast<int>(threadIdx.x) % read_threads, column = first_column + thread * VECTOR;
  const int first_word = static_cast<int>(threadIdx.x) / read_threads;
  const int own_row = first_row + first_word * word_units;
  const Unit* const end = x + static_cast<long long>(rows) * columns;
  const Unit* const from = x + static_cast<long long>(own_row) * columns + column;
  RowPack pack[steps][word_units] = {};
#pragma unroll
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int w = 0; w < word_units; ++w) {
      const int down = i * step_words * word_units + w, row = own_row + down;
      if (first_word + i * step_words >= tile_words || column >= columns || row < 0 || row >= rows) continue;
      pack[i][w] = RowPack::read(from + static_cast<long long>(down) * columns, aligned, end);
    }
  }
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    const int word = first_word + i * step_words;
    if (word >= tile_words) continue;
    unsigned int words[VECTOR];
    gather(words, pack[i]);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) tile[v * read_threads + thread][word] = words[v];
  }
}

/// WRITE units of a slot from the index-th on, in one or two words for each word of the result.
__device__ inline Pack<Unit, WRITE> pack_of(const unsigned int* words, int index) {
  constexpr int count = WRITE / word_units;
  const unsigned int* const first = words + index / word_units;
  const int bits = index % word_units * unit_bits;
  Pack<unsigned int, count> result;
  if (pitch % count == 0 && index % WRITE == 0) {
    result = load_pack<count>(first);
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) result.x[i] = first[i];
  }
  if (bits != 0) {
    const unsigned int last = first[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      result.x[i] = funnel_right(result.x[i], i + 1 < count ? result.x[i + 1] : last, bits);
    }
  }
  Pack<Unit, WRITE> pack;
  memcpy(&pack, &result, sizeof pack);
  return pack;
}

/// Writes the tile's columns as rows of y, which has `rows` rows of `columns` elements, from (first_row, first_column)
/// on, or, with ALIGN, from the sector's beginning before: the whole packs, and with ALIGN what is left at a row's ends.
__device__ inline void write_packs(const Tile& tile, Unit* y, int rows, int columns, int first_row, int first_column) {
  const int thread = static_cast<int>(threadIdx.x) % write_threads;
#pragma unroll
  for (int i = 0; i < ceil_div(TILE_N * write_threads, THREADS); ++i) {
    const int slot = i * (THREADS / write_threads) + static_cast<int>(threadIdx.x) / write_threads;
    const int row = first_row + column_of(slot);
    if (slot >= TILE_N || row >= rows) continue;
    Unit* const to = y + static_cast<long long>(row) * columns + first_column;
    const int first = thread * WRITE - units_beyond(to, ALIGN ? sector_units : WRITE), column = first_column + first;
    const int begin = ALIGN ? 0 : first_column;  // of what this block writes
    if (column >= begin && column + WRITE <= columns) {
      store_pack<WRITE>(to + first, pack_of(tile[slot], first + halo));
    } else if (ALIGN && column + WRITE > 0 && column < columns) {
      const Pack<Unit, WRITE> pack = pack_of(tile[slot], first + halo);
#pragma unroll
      for (int v = 0; v < WRITE; ++v) {
        if (column + v >= 0 && column + v < columns) to[first + v] = pack.x[v];
      }
    }
  }
}

/// The units that write_packs leaves without ALIGN: before the first and after the last whole pack of each row.
__device__ inline void write_edges(const Tile& tile, Unit* y, int rows, int columns, int first_row, int first_column) {
  const int width = min_of(TILE_M, columns - first_column);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < TILE_N * WRITE; i += THREADS) {
    const int slot = i / WRITE, row = first_row + column_of(slot);
    if (row >= rows) continue;
    Unit* const to = y + static_cast<long long>(row) * columns + first_column;
    const int skew = units_beyond(to, WRITE);
    const int head = min_of(skew == 0 ? 0 : WRITE - skew, width), tail = (width - head) % WRITE;
    const int edge = i % WRITE;
    // A row has fewer edges than two packs have units: each thread takes one of the head and one of the tail.
    if (edge < head) to[edge] = static_cast<Unit>(tile[slot][edge / word_units] >> edge % word_units * unit_bits);
    const int last = width - tail + edge;
    if (edge < tail) to[last] = static_cast<Unit>(tile[slot][last / word_units] >> last % word_units * unit_bits);
  }
}

/// x: rows x columns; y: columns x rows; both aligned to 16 bytes. Grid: one dimension, ceil(columns / TILE_N) *
/// ceil(rows / TILE_M), with ALIGN for 32 bytes of rows more. Block: THREADS. raster: rows of tiles that the blocks go
/// down before they move on along the columns; 0: row after row.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS, 1)
    transpose(const Unit* x, Unit* y, int rows, int columns, int raster) {
  alignas(16) __shared__ Tile tile;  // read in packs of up to 16 bytes
  const int tiles_down = ceil_div(rows + halo, TILE_M), tiles_across = ceil_div(columns, TILE_N);
  const int block = static_cast<int>(blockIdx.x);
  const int height = raster > 0 ? raster : 1, strip = block / (height * tiles_across);
  const int in_strip = block % (height * tiles_across), rows_here = min_of(height, tiles_down - strip * height);
  const int first_row = (strip * height + in_strip % rows_here) * TILE_M;
  const int first_column = in_strip / rows_here * TILE_N;
  read_tile(tile, x, rows, columns, first_row - halo, first_column);
  __syncthreads();
  write_packs(tile, y, columns, rows, first_column, first_row);
  if (!ALIGN && rows % WRITE != 0) write_edges(tile, y, columns, rows, first_column, first_row);
}

// How the threads of a block bring tiles of A and B to shared memory. Part of gemm.cu.
#pragma once

/// How a tile lies in shared memory: as in the matrix; as in the matrix, but with the columns of each pair swapped;
/// transposed; as in the matrix, swizzled, for NVIDIA's matrix cores or for AMD's, and likewise brought by direct copies;
/// or transposed and swizzled.
enum class Layout { rows, swapped_rows, columns, swizzled_within_rows, swizzled_rows, direct_rows, swizzled_columns };

/// The share of one of THREADS threads in copying ROWS x COLUMNS tiles of a row-major matrix to shared memory, one tile
/// after the other, WIDTH elements at a time. Of a tile, `rows` and `columns` lie in the matrix; the rest becomes 0.
/// WHOLE: either all do, and the rows take packs, or `rows` is 0. In shared memory, rows (of a transposed tile:
/// columns) lie STRIDE elements apart; those of swizzled tiles without gaps.
template <int ROWS, int COLUMNS, int THREADS, int WIDTH, int STRIDE, Layout LAYOUT>
class TileCopy {
 public:
  /// The first tile starts at (row, column).
  __device__ TileCopy(const Input* matrix, int matrix_columns, int row, int column)
      : matrix_columns_(matrix_columns), packed_(rows_take_packs<WIDTH>(matrix, matrix_columns)) {
    const int thread = static_cast<int>(threadIdx.x);
    tile_row_ = LAYOUT == Layout::direct_rows ? 0 : thread / across * depth;
    tile_column_ = LAYOUT == Layout::direct_rows ? 0 : thread % across * WIDTH;
    next_ = matrix + static_cast<long long>(row + tile_row_) * matrix_columns + column + tile_column_;
  }

  /// Whether tiles of which this much lies in the matrix may be copied as WHOLE ones. All threads get the same answer.
  __device__ bool whole(int rows, int columns) const { return packed_ && rows >= ROWS && columns >= COLUMNS; }

  /// Moves on to the next tile to copy, by this many rows and columns.
  __device__ void advance(int rows, int columns) { next_ += static_cast<long long>(rows) * matrix_columns_ + columns; }

  /// Starts reading the tile into registers; store() writes it to shared memory.
  template <bool WHOLE>
  __device__ void load(int rows, int columns) {
    for_each_pack([&](int i, int row, int column, const Input* from) {
      if constexpr (WHOLE) {
        if (rows > 0) staged_[i] = staged(load_pack<WIDTH>(from));
      } else {
        staged_[i] = staged(load_checked(from, tile_row_ + row < rows ? columns - tile_column_ - column : 0));
      }
    });
  }

  __device__ void store(Stored* tile) const {
#if TENSOR_CORES && INSTRUCTION > 8
    if constexpr (LAYOUT == Layout::swizzled_columns) {
      store_swizzled_columns(tile);
    } else {
      store_swizzled_rows(tile);
    }
#else
    for_each_pack([&](int i, int row, int column, const Input*) {
      if constexpr (LAYOUT == Layout::columns || WIDTH == 1) {
#pragma unroll
        for (int v = 0; v < WIDTH; ++v) *place(tile, row, column + v) = to_stored(staged_[i].x[v]);
      } else {
        Pack<Stored, WIDTH> pack;
#pragma unroll
        for (int v = 0; v < WIDTH; ++v) {
          pack.x[v] = to_stored(staged_[i].x[LAYOUT == Layout::swapped_rows ? v ^ 1 : v]);
        }
        store_pack<WIDTH>(place(tile, row, column), pack);
      }
    });
#endif
  }

#if DIRECT
  /// Starts copying the tile by direct copies. The place of a thread's packs is given, so that it chooses what belongs
  /// there. Of a WHOLE tile that has no rows, nothing is copied.
  template <bool WHOLE>
  __device__ void start_direct(Stored* tile, int rows, int columns) const {
    constexpr int packs_in_unit = 16 / (WIDTH * static_cast<int>(sizeof(Stored)));
    if (WHOLE && rows <= 0) return;
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < passes_down * passes_across; ++i) {
      const int place = i * THREADS + thread;
      const int pack = xtune::matrix::unit_at(place / packs_in_unit) * packs_in_unit + place % packs_in_unit;
      const int row = pack / packs_per_row, column = pack % packs_per_row * WIDTH;
      const Input* const from = next_ + static_cast<long long>(row) * matrix_columns_ + column;
      Stored* const to = tile + place * WIDTH;
      if (WHOLE || (packed_ && row < rows && column < columns)) {
        direct_copy(to, from, thread % warp_lanes);
      } else {
        store_pack<WIDTH>(to, load_checked(from, row < rows ? columns - column : 0));
      }
    }
  }
#endif

#if COPIES_ASYNC
  /// Starts copying the tile without registers. Elements that the hardware's copy can't take are there on return.
  template <bool WHOLE>
  __device__ void start(Stored* tile, int rows, int columns) const {
    for_each_pack([&](int, int row, int column, const Input* from) {
      Stored* const to = place(tile, row, column);
      if constexpr (WHOLE) {
        async_copy<WIDTH * sizeof(Input)>(to, from, rows > 0);
      } else {
        start_checked(to, from, tile_row_ + row < rows ? columns - tile_column_ - column : 0);
      }
    });
  }
#endif

 private:
#if TENSOR_CORES && INSTRUCTION > 8
  __device__ void store_swizzled_rows(Stored* tile) const {
    using xtune::matrix::swizzled;
    const int own = xtune::matrix::unforeseen(swizzled<Stored, COLUMNS>(tile_row_, tile_column_));
    for_each_pack([&](int i, int row, int column, const Input*) {
      store_pack<WIDTH>(tile + (own ^ swizzled<Stored, COLUMNS>(row, column)), operands(unstaged(staged_[i])));
    });
  }

  /// Transposes squares of a thread's elements in registers, so that it writes packs of neighbours along the columns.
  __device__ void store_swizzled_columns(Stored* tile) const {
    using xtune::matrix::swizzled;
    const int own = xtune::matrix::unforeseen(swizzled<Stored, ROWS>(tile_column_, tile_row_));
    for_each_pack([&](int i, int row, int column, const Input*) {
      if (i / passes_across % depth != 0) return;
      Pack<Stored, WIDTH> rows[depth];
#pragma unroll
      for (int j = 0; j < depth; ++j) rows[j] = operands(unstaged(staged_[i + j * passes_across]));
#pragma unroll
      for (int v = 0; v < WIDTH; ++v) {
        Pack<Stored, depth> pack;
#pragma unroll
        for (int j = 0; j < depth; ++j) pack.x[j] = rows[j].x[v];
        store_pack<depth>(tile + (own ^ swizzled<Stored, ROWS>(column + v, row)), pack);
      }
    });
  }

  /// Words in place of a pack's elements: from one tile to the next, the compilers for AMD GPUs would keep each element
  /// in its own register.
  struct Words {
    unsigned word[max_of(WIDTH * static_cast<int>(sizeof(Input)) / 4, 1)];
  };
  __device__ static Words staged(const Pack<Input, WIDTH>& pack) {
    Words words = {};
    __builtin_memcpy(&words, &pack, sizeof(pack));
    return words;
  }
  __device__ static Pack<Input, WIDTH> unstaged(const Words& words) {
    Pack<Input, WIDTH> pack;
    __builtin_memcpy(&pack, &words, sizeof(pack));
    return pack;
  }

  /// The pack as the matrix cores take it.
  __device__ static Pack<Stored, WIDTH> operands(const Pack<Input, WIDTH>& pack) {
    xtune::pack<Input, WIDTH> numbers;
    __builtin_memcpy(&numbers, &pack, sizeof(numbers));
    numbers = xtune::matrix::operands(numbers);
    Pack<Stored, WIDTH> result;
    __builtin_memcpy(&result, &numbers, sizeof(numbers));
    return result;
  }
#else
  using Words = Pack<Input, WIDTH>;
  __device__ static const Words& staged(const Pack<Input, WIDTH>& pack) { return pack; }
#endif

  /// A pack of which the matrix has the first `left` elements.
  __device__ Pack<Input, WIDTH> load_checked(const Input* from, int left) const {
    Pack<Input, WIDTH> pack = {};
    if (packed_) {
      if (left > 0) pack = load_pack<WIDTH>(from);
    } else {
#pragma unroll
      for (int v = 0; v < WIDTH; ++v) {
        if (v < left) pack.x[v] = from[v];
      }
    }
    return pack;
  }

#if COPIES_ASYNC
  /// Starts copying a pack, of which the matrix has the first `left` elements.
  __device__ void start_checked(Stored* to, const Input* from, int left) const {
    if (packed_) {
      async_copy<WIDTH * sizeof(Input)>(to, from, left > 0);
      return;
    }
#pragma unroll
    for (int v = 0; v < WIDTH; ++v) {
      if constexpr (sizeof(Input) >= 4) {
        async_copy<sizeof(Input)>(to + v, from + v, v < left);
      } else {
        to[v] = v < left ? from[v] : Input{};
      }
    }
  }
#endif

  static constexpr int packs_per_row = COLUMNS / WIDTH;
  static constexpr int across = min_of(packs_per_row, THREADS), down = THREADS / across;
  static constexpr int passes_across = packs_per_row / across, passes_down = ROWS / down;
  /// Neighbouring rows of a thread.
  static constexpr int depth =
      LAYOUT == Layout::swizzled_columns ? min_of(passes_down, 16 / static_cast<int>(sizeof(Stored))) : 1;
  static_assert(COLUMNS % WIDTH == 0 && packs_per_row % across == 0 && THREADS % across == 0 && ROWS % down == 0,
                "every thread copies the same number of packs");

  /// Calls visit(which, rows and columns from the thread's first pack, address in the matrix) for each of its packs.
  template <typename Visit>
  __device__ void for_each_pack(Visit visit) const {
    const Input* from = next_;
    const long long row_step = static_cast<long long>((down - 1) * depth + 1) * matrix_columns_;
#pragma unroll
    for (int i = 0; i < passes_down; ++i) {
#pragma unroll
      for (int j = 0; j < passes_across; ++j) {
        visit(i * passes_across + j, i / depth * down * depth + i % depth, j * across * WIDTH, from + j * across * WIDTH);
      }
      from += i % depth == depth - 1 ? row_step : matrix_columns_;
    }
  }

  /// Where the pack (of a transposed tile: the element) that lies this far from the thread's first pack goes to.
  __device__ Stored* place(Stored* tile, int row, int column) const {
#if TENSOR_CORES
    if constexpr (LAYOUT == Layout::swizzled_within_rows) {
      using xtune::matrix::swizzled_within_rows;
      static_assert(down % 8 == 0 || 8 % down == 0, "the units of a row and of the thread's first are combined by xor");
      const int own = swizzled_within_rows<Stored, COLUMNS>(tile_row_, tile_column_);
      return tile + (own ^ swizzled_within_rows<Stored, COLUMNS>(row % 8, 0) % COLUMNS) + row * COLUMNS + column;
    }
#endif
    row += tile_row_;
    column += tile_column_;
    if (LAYOUT == Layout::columns) return tile + column * STRIDE + row;
    return tile + row * STRIDE + (LAYOUT == Layout::swapped_rows && WIDTH == 1 ? column ^ 1 : column);
  }

  Words staged_[passes_down * passes_across];
  const Input* next_;
  int matrix_columns_, tile_row_, tile_column_;
  bool packed_;
};

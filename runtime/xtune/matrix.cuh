// For kernels: products of small tiles by the matrix cores of NVIDIA and AMD GPUs, with one interface: the shape of an
// instruction, a lane's part of its operands and results, and how to read operands from shared memory. Elsewhere, lanes
// exchange operands in place of the instruction: slow, with layouts of the same kind. Every backend finds this file as
// <xtune/matrix.cuh>; docs/portable-kernels.md describes it.
//
// Sources: CUDA PTX ISA, "Matrix Fragments for mma.m16n8k16" and "ldmatrix"; AMD, Instruction Set Architecture of
// Instinct MI200 and MI300, "Matrix Arithmetic Instructions", and of RDNA3 and RDNA4, "Wave Matrix Multiply Accumulate".
#pragma once

#include <xtune/narrow.cuh>

#if defined(XTUNE_HOST)
#pragma GCC system_header
#endif

// The generation of AMD's matrix cores that this is compiled for; 0: none.
#if XTUNE_ON_AMD && defined(__gfx90a__)
#define XTUNE_MATRIX_CDNA 2
#elif XTUNE_ON_AMD && (defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__))
#define XTUNE_MATRIX_CDNA 3
#else
#define XTUNE_MATRIX_CDNA 0
#endif
#if XTUNE_ON_AMD && (defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__) || \
                     defined(__gfx1150__) || defined(__gfx1151__))
#define XTUNE_MATRIX_RDNA 3
#elif XTUNE_ON_AMD && (defined(__gfx1200__) || defined(__gfx1201__))
#define XTUNE_MATRIX_RDNA 4
#else
#define XTUNE_MATRIX_RDNA 0
#endif

namespace xtune::matrix {

/// Neighbours in a one-dimensional block that execute an instruction together.
constexpr int lanes = XTUNE_MATRIX_CDNA ? 64 : 32;

/// D += A B for fragments A of m x k, B of k x n and D of m x n elements; A and B of T, which is xtune::f16, bf16,
/// f8e4m3 or float, and D of float. COLUMNS selects the instruction: 8 is NVIDIA's mma.sync, 16 and 32 are AMD's MFMA
/// and WMMA with 16 or 32 rows and columns. On the CPU, and on GPUs without matrix cores, 8 and 16 are emulated.
///
/// | member | is |
/// |---|---|
/// | m, n, k | shape of the fragments; k may take several instructions |
/// | A, B | a lane's part of an operand |
/// | load_a(a, lane, place) | reads A from shared memory: place(row, k) is the address of 16 bytes, neighbours along k |
/// | b_by_columns | whether load_b asks for place(column, k), neighbours along k; else place(k, column), along the columns |
/// | load_b(b, lane, place), b_at_once | reads B: b_at_once fragments, which are neighbours along the columns |
/// | multiply_add(sum, a, b) | adds the product to a lane's results |
/// | sums, sum_row(lane, i), sum_column(lane, i) | a lane's results and where they are |
/// | run | results that are neighbours in a row, from a multiple of run on |
/// | scale | what the sums are to be multiplied by at the end |
///
/// All lanes have to call load_a, load_b and multiply_add.
template <class T, int COLUMNS>
struct Product;

/// The place of an element in a tile in shared memory whose rows have COLUMNS elements and no gaps between them. A tile
/// starts at a multiple of 128 bytes, which is one element of each of 32 banks. Of the eight units of 16 bytes in
/// these, each goes to the place whose number is its own, combined by xor with the number of the 128 bytes and with an
/// eighth of that. So units in the same column of 8 neighbouring rows are in different banks, and so are those of 8
/// rows that are 2, 4 or 8 apart.
///
/// If the bits of two rows differ, and those of two columns, then the place of both sums is that of the one, combined by
/// xor with that of the other: swizzled(a + b, c + d) == (swizzled(a, c) ^ swizzled(b, d)).
template <class T, int COLUMNS>
__host__ __device__ constexpr int swizzled(int row, int column) {
  constexpr int in_unit = 16 / static_cast<int>(sizeof(T));
  static_assert(COLUMNS % in_unit == 0 && (COLUMNS & (COLUMNS - 1)) == 0,
                "a row is made of units of 16 bytes, and has a power of two of elements");
  const int unit = row * (COLUMNS / in_unit) + column / in_unit, line = unit / 8;
  return (line * 8 + ((unit ^ line ^ line / 8) & 7)) * in_unit + column % in_unit;
}

/// The place of an element in a tile whose rows have COLUMNS elements, a multiple of 128 bytes, or 64 or 32 bytes. The
/// units of 16 bytes stay in their row, and those of 32 aligned bytes together, as asynchronous copies like to write
/// them; each goes to the place whose number in 128 bytes is its own, combined by xor with the number of the row (of
/// shorter rows: of their 128 bytes). So units in the same column of 8 neighbouring rows are in different banks, and 8
/// rows on, the order is the same.
///
/// If COLUMNS is a power of two, then what swizzled() says of sums holds here too.
template <class T, int COLUMNS>
__host__ __device__ constexpr int swizzled_within_rows(int row, int column) {
  constexpr int in_unit = 16 / static_cast<int>(sizeof(T)), units = COLUMNS / in_unit;
  static_assert(COLUMNS % in_unit == 0 && (units % 8 == 0 || units == 4 || units == 2),
                "rows are a multiple of 128 bytes, or 64 or 32 bytes");
  constexpr int in_line = units < 8 ? 8 / units : 1;  // rows in 128 bytes
  return row * COLUMNS + ((column / in_unit) ^ (row / in_line % (8 / in_line))) * in_unit + column % in_unit;
}

/// The unit of 16 bytes, counted along the rows, that swizzled() puts to this place.
__host__ __device__ constexpr int unit_at(int place) {
  const int line = place / 8;
  return line * 8 + ((place ^ line ^ line / 8) & 7);
}

/// The same number, of which the compiler for AMD GPUs knows nothing. What depends on it is then computed where it is
/// needed, and not kept in registers from before a loop.
__device__ inline int unforeseen(int value) {
#if XTUNE_ON_AMD
  asm volatile("" : "+v"(value));
#endif
  return value;
}

/// Elements as the matrix cores take them. CDNA3 has f8 with an exponent that is larger by one (e4m3fnuz), so that the
/// bits of an f8e4m3 mean half of its number there: Product::scale makes up for it. The bits of -0 are its NaN, and the
/// bits of NaN a number.
template <class T, int COUNT>
__device__ inline pack<T, COUNT> operands(const pack<T, COUNT>& from) {
  return from;
}
#if XTUNE_MATRIX_CDNA == 3
template <int COUNT>
__device__ inline pack<f8e4m3, COUNT> operands(const pack<f8e4m3, COUNT>& from) {
  constexpr int count = (COUNT + 3) / 4;
  unsigned words[count] = {};
  __builtin_memcpy(words, &from, COUNT);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    // The highest bit of each byte: whether it is NaN, and whether it is not 0. Both lose their sign; 0x7f becomes 0x80.
    const unsigned sizes = words[i] & 0x7f7f7f7fu, nan = sizes + 0x01010101u, not_zero = sizes + 0x7f7f7f7fu;
    words[i] = (words[i] & ((not_zero & ~nan) | 0x7f7f7f7fu)) + (nan >> 7 & 0x01010101u);
  }
  pack<f8e4m3, COUNT> result;
  __builtin_memcpy(&result, words, COUNT);
  return result;
}
#endif

namespace detail {

template <class T>
__device__ inline float element(unsigned word, int which) {
  T values[sizeof(T) < 4 ? 4 / sizeof(T) : 1];
  __builtin_memcpy(values, &word, sizeof(word));
  return static_cast<float>(values[which]);
}

/// In place of an instruction: each lane takes the operands of its results from the lanes that hold them. P names the
/// holder of an operand, and the number of the element there, which all lanes agree on.
template <class P, class T>
__device__ inline void exchange(float* sum, const unsigned* a, const unsigned* b) {
  constexpr int in_word = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  const int lane = static_cast<int>(threadIdx.x) % lane_count;
  for (int i = 0; i < P::sums; ++i) {
    const int row = P::sum_row(lane, i), column = P::sum_column(lane, i);
    for (int k = 0; k < P::k; ++k) {
      const int of_a = P::a_element(row, k), of_b = P::b_element(column, k);
      const unsigned word_a = shuffle(a[of_a / in_word], P::a_holder(row, k));
      const unsigned word_b = shuffle(b[of_b / in_word], P::b_holder(column, k));
      sum[i] += element<T>(word_a, of_a % in_word) * element<T>(word_b, of_b % in_word);
    }
  }
}

}  // namespace detail

#if !XTUNE_MATRIX_CDNA && !XTUNE_MATRIX_RDNA

/// mma.sync.m16n8k16: lane 4 r + c holds, of A, rows r and r + 8, of B, column r; there the neighbours along k from 2 c
/// and from 2 c + 8 on. Of the results it has rows r and r + 8, columns 2 c and 2 c + 1.
template <class T>
struct Product<T, 8> {
  static_assert(sizeof(T) == 2, "matrix cores with COLUMNS = 8 take f16 or bf16");
#if XTUNE_ON_NVIDIA && defined(__CUDA_ARCH__)
  static_assert(__CUDA_ARCH__ >= 750, "matrix cores with COLUMNS = 8 need compute capability 7.5, for bf16 8.0");
#endif
  static constexpr int m = 16, n = 8, k = 16;
  static constexpr int sums = m * n / lanes, run = 2, b_at_once = 2;
  static constexpr float scale = 1;
  static constexpr bool b_by_columns = false;
  struct A {
    unsigned word[4];
  };
  struct B {
    unsigned word[2];
  };
  __device__ static int sum_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
  __device__ static int sum_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

#if XTUNE_ON_NVIDIA && defined(__CUDA_ARCH__)

  template <class Place>
  __device__ static void load_a(A& a, int lane, Place place) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(place(lane % 16, lane / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a.word[0]), "=r"(a.word[1]), "=r"(a.word[2]), "=r"(a.word[3])
                 : "r"(address)
                 : "memory");
  }
  template <class Place>
  __device__ static void load_b(B* b, int lane, Place place) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(place(lane % 16, lane / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0].word[0]), "=r"(b[0].word[1]), "=r"(b[1].word[0]), "=r"(b[1].word[1])
                 : "r"(address)
                 : "memory");
  }
  __device__ static void multiply_add(float* sum, const A& a, const B& b) { add(T{}, sum, a.word, b.word); }

 private:
  __device__ static void add(f16, float* sum, const unsigned* a, const unsigned* b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
          : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
    }
#endif
  }
  __device__ static void add(bf16, float* sum, const unsigned* a, const unsigned* b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    static_assert(sizeof(T) == 0, "matrix cores need compute capability 8.0 for bf16");
#endif
  }

#else

  template <class Place>
  __device__ static void load_a(A& a, int lane, Place place) {
    for (int i = 0; i < 4; ++i)
      __builtin_memcpy(&a.word[i], place(lane / 4 + i % 2 * 8, i / 2 * 8) + lane % 4 * 2, sizeof(unsigned));
  }
  template <class Place>
  __device__ static void load_b(B* b, int lane, Place place) {
    for (int i = 0; i < 4; ++i) {
      const int first = lane % 4 * 2 + i % 2 * 8, column = lane / 4;
      const T both[2] = {place(first, i / 2 * 8)[column], place(first + 1, i / 2 * 8)[column]};
      __builtin_memcpy(&b[i / 2].word[i % 2], both, sizeof(unsigned));
    }
  }
  __device__ static void multiply_add(float* sum, const A& a, const B& b) {
    detail::exchange<Product, T>(sum, a.word, b.word);
  }
  __device__ static int a_holder(int row, int k) { return row % 8 * 4 + k % 8 / 2; }
  __device__ static int a_element(int row, int k) { return (k / 8 * 2 + row / 8) * 2 + k % 2; }
  __device__ static int b_holder(int column, int k) { return column * 4 + k % 8 / 2; }
  __device__ static int b_element(int, int k) { return k / 8 * 2 + k % 2; }

#endif
};

#endif

#if !XTUNE_ON_NVIDIA

namespace detail {

// One instruction: a lane's words of A and of B, the results that it adds to, and the built-in function of the compiler.
#if XTUNE_MATRIX_CDNA || XTUNE_MATRIX_RDNA
template <class E, int COUNT>
struct VectorOf {
  typedef E type __attribute__((ext_vector_type(COUNT)));
};
template <class E, int COUNT>
using Vector = typename VectorOf<E, COUNT>::type;

template <class V>
__device__ inline V words_as(const unsigned* words) {
  V value;
  __builtin_memcpy(&value, words, sizeof(V));
  return value;
}

template <class T, int SIZE>
struct Instruction;
#define XTUNE_MATRIX_INSTRUCTION(T, SIZE, Operand, Sums, ...)                                   \
  template <>                                                                                   \
  struct Instruction<T, SIZE> {                                                                 \
    static constexpr int words = sizeof(Operand) / 4;                                           \
    __device__ static void run(float* sum, const unsigned* first, const unsigned* second) {     \
      const Operand a = words_as<Operand>(first), b = words_as<Operand>(second);                \
      Sums c;                                                                                   \
      __builtin_memcpy(&c, sum, sizeof(c));                                                     \
      c = __VA_ARGS__;                                                                          \
      __builtin_memcpy(sum, &c, sizeof(c));                                                     \
    }                                                                                           \
  };
#endif

#if XTUNE_MATRIX_CDNA
using Floats4 = Vector<float, 4>;
using Floats16 = Vector<float, 16>;
using Halves4 = Vector<_Float16, 4>;
using Shorts4 = Vector<short, 4>;
XTUNE_MATRIX_INSTRUCTION(float, 16, float, Floats4, __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0))
XTUNE_MATRIX_INSTRUCTION(float, 32, float, Floats16, __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0))
XTUNE_MATRIX_INSTRUCTION(f16, 16, Halves4, Floats4, __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0))
XTUNE_MATRIX_INSTRUCTION(f16, 32, Halves4, Floats16, __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0))
XTUNE_MATRIX_INSTRUCTION(bf16, 16, Shorts4, Floats4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0))
XTUNE_MATRIX_INSTRUCTION(bf16, 32, Shorts4, Floats16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0))
#if XTUNE_MATRIX_CDNA == 3
XTUNE_MATRIX_INSTRUCTION(f8e4m3, 16, long, Floats4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
XTUNE_MATRIX_INSTRUCTION(f8e4m3, 32, long, Floats16, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, c, 0, 0, 0))
#endif
#elif XTUNE_MATRIX_RDNA == 3
using Floats8 = Vector<float, 8>;
using Halves16 = Vector<_Float16, 16>;
using Shorts16 = Vector<short, 16>;
XTUNE_MATRIX_INSTRUCTION(f16, 16, Halves16, Floats8, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c))
XTUNE_MATRIX_INSTRUCTION(bf16, 16, Shorts16, Floats8, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c))
#elif XTUNE_MATRIX_RDNA == 4
using Floats8 = Vector<float, 8>;
using Halves8 = Vector<_Float16, 8>;
using Shorts8 = Vector<short, 8>;
using Ints2 = Vector<int, 2>;
XTUNE_MATRIX_INSTRUCTION(f16, 16, Halves8, Floats8, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c))
XTUNE_MATRIX_INSTRUCTION(bf16, 16, Shorts8, Floats8, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c))
XTUNE_MATRIX_INSTRUCTION(f8e4m3, 16, Ints2, Floats8, __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c))
#endif
#undef XTUNE_MATRIX_INSTRUCTION

/// How AMD's instructions spread fragments of SIZE rows of A and SIZE columns of B: lane l holds row (column) l % SIZE,
/// and there neighbours along k, 16 bytes for one or more instructions. Each instruction takes the next of them, so that
/// its k are not neighbours, but those of A and of B are the same. RDNA3 takes a whole row of 32 bytes from each lane
/// of one half of the wave, and the same once more from the other half.
template <class T, int SIZE>
struct SquareLayout {
  static constexpr int m = SIZE, n = SIZE;
  static constexpr int words = XTUNE_MATRIX_RDNA == 3 ? 8 : 4;
  static constexpr int in_lane = words * 4 / static_cast<int>(sizeof(T));  // elements
  static constexpr int holders = XTUNE_MATRIX_RDNA == 3 ? 1 : lanes / SIZE;
  static constexpr int k = in_lane * holders;
  static constexpr int sums = SIZE * SIZE / lanes;
  static constexpr float scale = XTUNE_MATRIX_CDNA == 3 && sizeof(T) == 1 ? 4 : 1;
  struct Part {
    unsigned word[words];
  };

  // The results of an instruction have the columns of its second operand along the lanes. Except on RDNA3, a lane's
  // results are neighbours along the rows of the first one, so this is B, and rows of D can be written in packs.
#if XTUNE_MATRIX_RDNA == 3
  static constexpr int run = 1;
  __device__ static int sum_row(int lane, int i) { return 2 * i + lane / 16; }
  __device__ static int sum_column(int lane, int) { return lane % 16; }
#else
  static constexpr int run = 4;
  __device__ static int sum_row(int lane, int) { return lane % SIZE; }
#if XTUNE_MATRIX_CDNA
  __device__ static int sum_column(int lane, int i) { return i / 4 * 8 + lane / SIZE * 4 + i % 4; }
#else
  __device__ static int sum_column(int lane, int i) { return lane / SIZE * 8 + i; }
#endif
#endif

  template <class Place>
  __device__ static void load(Part& part, int lane, Place place) {
#pragma unroll
    for (int i = 0; i < words / 4; ++i) {
      const int first = (holders > 1 ? lane / SIZE * in_lane : 0) + i * 16 / static_cast<int>(sizeof(T));
      const auto* const from = reinterpret_cast<const pack<unsigned, 4>*>(place(lane % SIZE, first));
      const pack<unsigned, 4> unit = *from;
#pragma unroll
      for (int j = 0; j < 4; ++j) part.word[4 * i + j] = unit.x[j];
    }
  }
};

}  // namespace detail

template <class T, int COLUMNS>
struct Product : detail::SquareLayout<T, COLUMNS> {
  static_assert(COLUMNS == 16 || (COLUMNS == 32 && (XTUNE_MATRIX_CDNA || !XTUNE_ON_AMD)),
                "AMD's matrix cores take COLUMNS = 16, and 32 on CDNA");
  using Layout = detail::SquareLayout<T, COLUMNS>;
  using A = typename Layout::Part;
  using B = typename Layout::Part;
  static constexpr bool b_by_columns = true;
  static constexpr int b_at_once = 1;

  template <class Place>
  __device__ static void load_a(A& a, int lane, Place place) {
    Layout::load(a, lane, place);
  }
  template <class Place>
  __device__ static void load_b(B* b, int lane, Place place) {
    Layout::load(*b, lane, place);
  }

#if XTUNE_MATRIX_CDNA || XTUNE_MATRIX_RDNA
  __device__ static void multiply_add(float* sum, const A& a, const B& b) {
    using One = detail::Instruction<T, COLUMNS>;
#pragma unroll
    for (int first = 0; first < Layout::words; first += One::words) {
      if (Layout::run == 1) {
        One::run(sum, a.word + first, b.word + first);
      } else {
        One::run(sum, b.word + first, a.word + first);
      }
    }
  }
#else
  __device__ static void multiply_add(float* sum, const A& a, const B& b) {
    detail::exchange<Product, T>(sum, a.word, b.word);
  }
  __device__ static int a_holder(int row, int k) { return row + k / Layout::in_lane * COLUMNS; }
  __device__ static int a_element(int, int k) { return k % Layout::in_lane; }
  __device__ static int b_holder(int column, int k) { return a_holder(column, k); }
  __device__ static int b_element(int, int k) { return k % Layout::in_lane; }
#endif
};

#endif

}  // namespace xtune::matrix

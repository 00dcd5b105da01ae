// One instruction of a matrix core on f16 or bf16 inputs: 32 lanes multiply a 16 x 16 fragment of A by a 16 x 8
// fragment of B together. Another vendor's instruction replaces the constants and functions below; the rest of gemm.cu
// takes shapes and places from here. Part of gemm.cu.
//
// Source: CUDA PTX ISA, sections "Matrix Fragments for mma.m16n8k16" and "ldmatrix".
#pragma once

#if ON_NVIDIA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= (INPUT_BF16 ? 800 : 750)
#define HAS_MATRIX_INSTRUCTION 1
#elif ON_NVIDIA && defined(__CUDA_ARCH__)
#error "TENSOR_CORES = 1 takes compute capability 7.5 for f16 inputs, 8.0 for bf16"
#else
#define HAS_MATRIX_INSTRUCTION 0
#endif

constexpr int instruction_m = 16, instruction_n = 8, instruction_k = 16;

/// A lane's part of a fragment, two neighbours along K in each word. A lane has rows lane / 4 and lane / 4 + 8 of A and
/// column lane / 4 of B, there the neighbours 2 (lane % 4) and 2 (lane % 4) + 8.
struct FragmentA {
  unsigned word[4];
};
struct FragmentB {
  unsigned word[2];
};

/// A lane's part of the product: rows lane / 4 (0 and 1) and lane / 4 + 8 (2 and 3), columns from 2 (lane % 4) on.
constexpr int sums_per_instruction = instruction_m * instruction_n / lane_count;
__device__ inline int sum_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
__device__ inline int sum_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

#if HAS_MATRIX_INSTRUCTION

/// Reads the fragment whose corner is `from`, from shared memory in which rows lie `stride` elements apart.
__device__ inline FragmentA load_a(const Input* from, int stride, int lane) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(from + lane % 16 * stride + lane / 16 * 8));
  FragmentA a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a.word[0]), "=r"(a.word[1]), "=r"(a.word[2]), "=r"(a.word[3])
               : "r"(address)
               : "memory");
  return a;
}

/// Likewise two fragments of B that are neighbours along N.
__device__ inline void load_b(FragmentB (&b)[2], const Input* from, int stride, int lane) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(from + lane % 16 * stride + lane / 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(b[0].word[0]), "=r"(b[0].word[1]), "=r"(b[1].word[0]), "=r"(b[1].word[1])
               : "r"(address)
               : "memory");
}

/// Adds the product of the fragments to the sums.
__device__ inline void multiply_add(float* sum, const FragmentA& a, const FragmentB& b) {
#if INPUT_BF16
#define MMA_TYPES ".f32.bf16.bf16.f32 "
#else
#define MMA_TYPES ".f32.f16.f16.f32 "
#endif
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col" MMA_TYPES "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]));
#else
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    asm("mma.sync.aligned.m16n8k8.row.col" MMA_TYPES "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a.word[2 * half]), "r"(a.word[2 * half + 1]), "r"(b.word[half]));
  }
#endif
#undef MMA_TYPES
}

#else

// Where no instruction is known, lanes exchange what they hold: slow, but the rest of the kernel can be checked
// anywhere.

__device__ inline unsigned word_of(Input low, Input high) {
  const Input pair[2] = {low, high};
  unsigned word;
  __builtin_memcpy(&word, pair, sizeof(word));
  return word;
}

__device__ inline float element(unsigned word, int which) {
  Input pair[2];
  __builtin_memcpy(pair, &word, sizeof(word));
  return to_float(pair[which]);
}

__device__ inline FragmentA load_a(const Input* from, int stride, int lane) {
  FragmentA a;
  for (int i = 0; i < 4; ++i) {
    const Input* const at = from + (lane / 4 + i % 2 * 8) * stride + lane % 4 * 2 + i / 2 * 8;
    a.word[i] = word_of(at[0], at[1]);
  }
  return a;
}

__device__ inline void load_b(FragmentB (&b)[2], const Input* from, int stride, int lane) {
  for (int i = 0; i < 4; ++i) {
    const Input* const at = from + (lane % 4 * 2 + i % 2 * 8) * stride + lane / 4 + i / 2 * 8;
    b[i / 2].word[i % 2] = word_of(at[0], at[stride]);
  }
}

__device__ inline void multiply_add(float* sum, const FragmentA& a, const FragmentB& b) {
  const int lane = static_cast<int>(threadIdx.x) % lane_count;
  for (int k = 0; k < instruction_k; k += 2) {
    const int half = k / 8, from = k % 8 / 2;
    for (int i = 0; i < sums_per_instruction; ++i) {
      const unsigned a_word = xtune::shuffle(a.word[2 * half + i / 2], lane / 4 * 4 + from);
      const unsigned b_word = xtune::shuffle(b.word[half], sum_column(lane, i) * 4 + from);
      sum[i] += element(a_word, 0) * element(b_word, 0) + element(a_word, 1) * element(b_word, 1);
    }
  }
}

#endif

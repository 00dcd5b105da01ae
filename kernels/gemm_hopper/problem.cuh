// What gemm_hopper computes: types, layouts, and what follows from the sums. Defines of the spec; also for the
// reference and the packing pass.
#pragma once

#include <xtune/narrow.cuh>

// Inputs: 0 bf16, 1 f16, 2 f8e4m3. Results: 0 bf16, 1 f16, 2 f32.
#ifndef INPUT_TYPE
#define INPUT_TYPE 0
#endif
#ifndef OUTPUT_TYPE
#define OUTPUT_TYPE 0
#endif
// 1: A is K x M, or B is N x K.
#ifndef TRANSPOSED_A
#define TRANSPOSED_A 0
#endif
#ifndef TRANSPOSED_B
#define TRANSPOSED_B 0
#endif
// C = activation(alpha * A * B + beta * D + bias), where what is 0 here is left out. Activations: 1 relu, 2 gelu (its
// approximation by tanh), 3 silu.
#ifndef SCALED
#define SCALED 0
#endif
#ifndef BIASED
#define BIASED 0
#endif
#ifndef ACTIVATION
#define ACTIVATION 0
#endif

// 1: groups of A's rows, each multiplied by its own B (GROUPS x K x N, or GROUPS x N x K if transposed).
#ifndef GROUPED
#define GROUPED 0
#endif

// 1: A or B is read without a tensor map, and without being packed.
#ifndef DIRECT_A
#define DIRECT_A 0
#endif
#ifndef DIRECT_B
#define DIRECT_B 0
#endif

#if INPUT_TYPE == 0
using In = xtune::bf16;
#elif INPUT_TYPE == 1
using In = xtune::f16;
#else
using In = xtune::f8e4m3;
#endif
#if OUTPUT_TYPE == 0
using Out = xtune::bf16;
#elif OUTPUT_TYPE == 1
using Out = xtune::f16;
#else
using Out = float;
#endif

/// What a product is added to and scaled with.
struct Extra {
  const Out* d;
  const float* bias;
  float alpha, beta;
};

__device__ inline float activated(float x) {
#if ACTIVATION == 1
  return x > 0 ? x : 0;
#elif ACTIVATION == 2
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
#elif ACTIVATION == 3
  return x / (1 + expf(-x));
#else
  return x;
#endif
}

/// The result of the sum for row i and column j.
__device__ inline float finished(float sum, const Extra& extra, int i, int j, int n) {
#if SCALED
  sum = extra.alpha * sum + extra.beta * static_cast<float>(extra.d[static_cast<size_t>(i) * n + j]);
#endif
#if BIASED
  sum += extra.bias[j];
#endif
  return activated(sum);
}
constexpr bool HAS_EXTRA = SCALED || BIASED || ACTIVATION;

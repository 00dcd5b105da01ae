// The output of a chunk: scale * (gate q h + tril(q k^T gates) v_new), with rows of q and k of length 1.
#pragma once

#include "products.cuh"

constexpr int output_slices = OUTPUT_V / 64;  // columns of v of a block of threads

struct OutputShared {
  Element q[k_slices][tile], k[k_slices][tile];  // q: the output, too
  Element v[output_slices][tile], h[output_slices][DK * 64];
  float gates[chunk], k_norms[chunk], q_norms[chunk];
  hopper::Barrier full;
};

/// What rows of q are multiplied by to get length 1: two threads for each.
__device__ inline void normalise_queries(OutputShared& shared) {
  const int row = threadIdx.x / 2;
  float sum = 0;
  for (int i = 0; i < DK / 16; ++i) {
    // Threads read different parts of their rows, against bank conflicts.
    const int part = (DK / 16 * (threadIdx.x % 2) + (i + row) % (DK / 16)) % 8;
    const Element* slice = shared.q[threadIdx.x % 2 * (k_slices - 1)];
    const auto numbers = *reinterpret_cast<const xtune::pack<Element, 8>*>(slice + row * 64 + (part ^ row % 8) * 8);
    for (int j = 0; j < 8; ++j) sum += static_cast<float>(numbers[j]) * static_cast<float>(numbers[j]);
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  if (threadIdx.x % 2 == 0) shared.q_norms[row] = rsqrtf(sum + 1e-6f);
}

/// output = gate q h + tril(q k^T gates) v_new
__device__ inline void attend_chunk(OutputShared& shared, float (&output)[OUTPUT_V / 2], float scale) {
  float scores[32];
  hopper::products_begin();
  multiply_rows(scores, shared.q[0], shared.k[0]);
  hopper::products_commit();
  const hopper::Matrix q = hopper::matrix<swizzle>(shared.q[0], 1024);
  const hopper::Matrix h = hopper::matrix<swizzle>(shared.h[0], 1024, DK * 128);
#pragma unroll
  for (int i = 0; i < DK / 16; ++i)
    hopper::product<type, hopper::Major::k, hopper::Major::mn>(
        output, hopper::advance(q, i / 4 * tile_bytes + i % 4 * 32), hopper::advance(h, i * 2048), i != 0);
  hopper::products_commit();
  normalise_queries(shared);
  __syncthreads();
  hopper::products_wait<1>();
  hopper::keep(scores);
  unsigned weights[4][4];
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const int row = row_of(i), column = column_of(i);
    scores[i] *= row >= column ? shared.k_norms[column] * exp2f(shared.gates[row] - shared.gates[column]) : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) pack_step(scores, i, weights[i]);
  hopper::products_wait<0>();
  hopper::keep(output);
#pragma unroll
  for (int i = 0; i < OUTPUT_V / 2; ++i) output[i] *= exp2f(shared.gates[row_of(i % 4)]);
  begin_with(weights);
  multiply<type>(output, weights, shared.v[0], true);
  finish(output);
#pragma unroll
  for (int i = 0; i < OUTPUT_V / 2; ++i) output[i] *= scale * shared.q_norms[row_of(i % 4)];
}

// What a chunk's rows are replaced by, so that only the state links the chunks: with A = tril(beta k k^T gates, -1),
// w = (I + A)^-1 (beta gate k) and u = (I + A)^-1 (beta v).
#pragma once

#include "products.cuh"

constexpr hopper::Type exact = hopper::Type::f16;  // of the inverse's factors: 11 bits

struct PrepareShared {
  Element k[k_slices][tile], v[v_slices][tile];
  xtune::f16 rest[tile];            // A without its diagonal blocks
  xtune::f16 diagonal[tile];        // inverses of the diagonal blocks of 16 rows
  xtune::f16 halves[tile];          // inverses of the diagonal blocks of 32 rows
  alignas(16) float blocks[4][16][20];  // A's diagonal blocks
  float gates[chunk], betas[chunk], norms[chunk];
  hopper::Barrier full;
};

struct Logits {
  const float *gates, *betas;  // [batches, length, heads]: a gate is 2^(-rate softplus(x)), a beta sigmoid(x)
  float rate;
};

/// One warp: gates, cumulated and as exponents of 2, and betas of a chunk. A row behind the end has beta 0.
__device__ inline void activate(PrepareShared& shared, const Logits& logits, float* g, const Sequence& sequence,
                                int first) {
  float gates[2];
  for (int i = 0; i < 2; ++i) {
    const int row = first + 2 * lane() + i;
    const bool inside = row < sequence.length;
    const float gate = inside ? logits.gates[sequence.at(row)] : 0.0f;
    const float beta = inside ? logits.betas[sequence.at(row)] : 0.0f;
    gates[i] = inside ? -logits.rate * (fmaxf(gate, 0.0f) + log1pf(expf(-fabsf(gate)))) : 0.0f;
    shared.betas[2 * lane() + i] = inside ? 1.0f / (1.0f + expf(-beta)) : 0.0f;
  }
  float sum = gates[0] + gates[1];
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane() >= step) sum += before;
  }
  for (int i = 0; i < 2; ++i) {
    const float cumulated = i == 0 ? sum - gates[1] : sum;
    shared.gates[2 * lane() + i] = cumulated;
    const int row = first + 2 * lane() + i;
    if (row < sequence.length) g[sequence.at(row)] = cumulated;
  }
}

/// What rows of k are multiplied by to get length 1, from the diagonal of k k^T.
__device__ inline void normalise(PrepareShared& shared, const float (&products)[32], float* k_norms,
                                 const Sequence& sequence, int first) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    if (row_of(i) != column_of(i)) continue;
    const float norm = rsqrtf(products[i] + 1e-6f);
    shared.norms[row_of(i)] = norm;
    if (first + row_of(i) < sequence.length) k_norms[sequence.at(first + row_of(i))] = norm;
  }
}

/// A = tril(beta k k^T gates, -1), from k k^T: its diagonal blocks and the rest.
__device__ inline void split(PrepareShared& shared, float (&products)[32]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const int row = row_of(i), column = column_of(i);
    const float factor = shared.betas[row] * shared.norms[row] * shared.norms[column];
    products[i] *= row > column ? factor * exp2f(shared.gates[row] - shared.gates[column]) : 0.0f;
    if (i / 8 == warp()) shared.blocks[warp()][row % 16][column % 16] = products[i];
  }
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    unsigned packed[4] = {};
    if (step < warp())
      for (int i = 0; i < 4; ++i)
        packed[i] = hopper::narrow<exact>(products[8 * step + 2 * i], products[8 * step + 2 * i + 1]);
    store_step(shared.rest, step, packed);
  }
}

/// Inverts I + a block of 16 rows, one column by each of the first 16 threads of a warp, by substitution in f32. The
/// inverses, as an operand, are zero elsewhere.
__device__ inline void invert_block(PrepareShared& shared, unsigned (&operand)[4][4]) {
  float x[16];
  const auto& block = shared.blocks[warp()];
  const int column = lane() % 16;
#pragma unroll
  for (int row = 0; row < 16; ++row) {
    x[row] = row == column ? 1.0f : 0.0f;
#pragma unroll
    for (int i = 0; i < row; ++i) x[row] -= block[row][i] * x[i];
  }
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 4; ++i) operand[step][i] = 0;
    store_step(shared.diagonal, step, operand[step]);
  }
  __syncwarp();
#pragma unroll
  for (int row = 0; row < 16; ++row) {
    const int part = (2 * warp() + column / 8) ^ (row % 8);
    if (lane() < 16) shared.diagonal[(16 * warp() + row) * 64 + part * 8 + column % 8] = xtune::f16(x[row]);
  }
  __syncwarp();
#pragma unroll
  for (int step = 0; step < 4; ++step)
    if (step == warp()) hopper::load_matrices(row_of_step(shared.diagonal, step), operand[step]);
}

/// Rounds sums to an operand.
template <hopper::Type TYPE>
__device__ __forceinline__ void round_to(const float (&sums)[32], unsigned (&operand)[4][4]) {
#pragma unroll
  for (int i = 0; i < 16; ++i) operand[i / 4][i % 4] = hopper::narrow<TYPE>(sums[2 * i], sums[2 * i + 1]);
}

/// Doubles the size of inverted diagonal blocks: inverse -= inverse * A * inverse, of A only the blocks of 16 x 16 below
/// the inverted ones. `inverse`, an operand, is in memory, too.
template <int BLOCKS>
__device__ inline void grow(const PrepareShared& shared, unsigned (&inverse)[4][4], const xtune::f16* in_memory,
                            float (&sums)[32]) {
  begin_with(inverse);
  multiply<exact>(sums, inverse, shared.rest, false);
  finish(sums);
#pragma unroll
  for (int i = 0; i < 32; ++i)
    if (warp() / BLOCKS % 2 == 0 || i / 8 / BLOCKS != warp() / BLOCKS - 1) sums[i] = 0;
  unsigned product[4][4];
  round_to<exact>(sums, product);
  begin_with(product);
  multiply<exact, 4 - BLOCKS>(sums, product, in_memory, false);
  finish(sums);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const auto pair = hopper::widen<exact>(inverse[i / 4][i % 4]);
    sums[2 * i] = pair[0] - sums[2 * i];
    sums[2 * i + 1] = pair[1] - sums[2 * i + 1];
  }
}

/// (I + A)^-1 from k k^T.
__device__ inline void invert(PrepareShared& shared, float (&sums)[32]) {
  split(shared, sums);
  __syncwarp();
  unsigned inverse[4][4];
  invert_block(shared, inverse);
  hopper::fence_async();
  __syncthreads();
  grow<1>(shared, inverse, shared.diagonal, sums);
  round_to<exact>(sums, inverse);
#pragma unroll
  for (int step = 0; step < 4; ++step) store_step(shared.halves, step, inverse[step]);
  hopper::fence_async();
  __syncthreads();
  grow<2>(shared, inverse, shared.halves, sums);
}

/// w and u, through the memory of k and v.
__device__ inline void write_w_and_u(PrepareShared& shared, const float (&inverse)[32], const hopper::TensorMap& w_map,
                                     const hopper::TensorMap& u_map, const Sequence& sequence, int index) {
  float factors[32], w[DK / 2], u[DV / 2];
  unsigned w_operand[4][4], u_operand[4][4];
#pragma unroll
  for (int i = 0; i < 32; ++i) factors[i] = inverse[i] * shared.betas[column_of(i)];
  round_to<type>(factors, u_operand);
#pragma unroll
  for (int i = 0; i < 32; ++i) factors[i] *= shared.norms[column_of(i)] * exp2f(shared.gates[column_of(i)]);
  round_to<type>(factors, w_operand);
  begin_with(w_operand);
  multiply<type>(w, w_operand, shared.k[0], false);
  begin_with(u_operand);
  multiply<type>(u, u_operand, shared.v[0], false);
  hopper::products_commit();
  hopper::products_wait<0>();
  hopper::keep(w);
  hopper::keep(u);
  __syncthreads();
  write_rows(w, shared.k[0]);
  write_rows(u, shared.v[0]);
  hopper::fence_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 0; i < k_slices; ++i)
    hopper::store_tile(w_map, shared.k[i], 64 * i, sequence.head, index * chunk, sequence.batch);
  for (int i = 0; i < v_slices; ++i)
    hopper::store_tile(u_map, shared.v[i], 64 * i, sequence.head, index * chunk, sequence.batch);
  hopper::store_commit();
  hopper::store_wait_read<0>();
}

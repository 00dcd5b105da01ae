// Gravitation of n bodies on each other, all pairs, f32: acceleration[i] = sum over j of mass[j] * d / (|d|^2 +
// softening)^1.5 with d = position[j] - position[i]. The parameters are macros from -D; README.md describes each.
#include "../common/pack.cuh"

constexpr int targets_per_block = BLOCK * BODIES;
static_assert(BLOCK % lane_count == 0, "a group of threads is made of whole warps");
static_assert(TILE % (BLOCK * SPLIT) == 0 && TILE / SPLIT % UNROLL == 0, "every thread copies and reads as many bodies");

using Body = Pack<float, 4>;  // x, y, z, mass

/// A body without mass beyond the end: it attracts nothing.
__device__ inline Body load_body(const float* bodies, int n, int index) {
  if (index >= n) return {};
  return load_pack<4>(bodies + 4 * static_cast<long long>(index));
}

struct Sum {
  float x, y, z;

  __device__ void add(const Body& target, const Body& source, float softening) {
    const float dx = source.x[0] - target.x[0], dy = source.x[1] - target.x[1], dz = source.x[2] - target.x[2];
    const float inverse = rsqrtf(dx * dx + (dy * dy + (dz * dz + softening)));
    const float scale = source.x[3] * inverse * (inverse * inverse);
    x += scale * dx;
    y += scale * dy;
    z += scale * dz;
  }
};

/// bodies: x, y, z and mass of each, aligned to 16 bytes; accelerations: x, y, z and 0 of each. softening > 0.
/// Grid: one dimension, ceil(n / (BLOCK * BODIES)). Block: (BLOCK, SPLIT): SPLIT groups of threads have the same
/// targets, and each sums its share of every tile.
extern "C" __global__ void LAUNCH_BOUNDS(BLOCK* SPLIT, 1)
    nbody(const float* bodies, float* accelerations, int n, float softening) {
  __shared__ Body tile[TILE];
  __shared__ Sum partial[SPLIT > 1 ? (SPLIT - 1) * targets_per_block : 1];
  const int lane = static_cast<int>(threadIdx.x), group = static_cast<int>(threadIdx.y);
  const int first = static_cast<int>(blockIdx.x) * targets_per_block + lane;
  Body target[BODIES];
  Sum sum[BODIES] = {};
#pragma unroll
  for (int b = 0; b < BODIES; ++b) target[b] = load_body(bodies, n, first + b * BLOCK);

#pragma unroll 1
  for (int start = 0; start < n; start += TILE) {
    if (start > 0) __syncthreads();  // the tile is free again
#pragma unroll
    for (int i = 0; i < TILE; i += BLOCK * SPLIT) {
      const int place = i + group * BLOCK + lane;
      tile[place] = load_body(bodies, n, start + place);
    }
    __syncthreads();
    const Body* const share = tile + group * (TILE / SPLIT);
#pragma unroll UNROLL
    for (int i = 0; i < TILE / SPLIT; ++i) {
      const Body source = share[i];
#pragma unroll
      for (int b = 0; b < BODIES; ++b) sum[b].add(target[b], source, softening);
    }
  }

  if (SPLIT > 1 && group > 0) {
#pragma unroll
    for (int b = 0; b < BODIES; ++b) partial[(group - 1) * targets_per_block + b * BLOCK + lane] = sum[b];
  }
  if (SPLIT > 1) __syncthreads();
  if (group > 0) return;
#pragma unroll
  for (int b = 0; b < BODIES; ++b) {
#pragma unroll
    for (int other = 0; other < SPLIT - 1; ++other) {
      const Sum& part = partial[other * targets_per_block + b * BLOCK + lane];
      sum[b].x += part.x;
      sum[b].y += part.y;
      sum[b].z += part.z;
    }
    const int index = first + b * BLOCK;
    if (index < n) store_pack<4>(accelerations + 4 * static_cast<long long>(index), Body{{sum[b].x, sum[b].y, sum[b].z, 0.0f}});
  }
}

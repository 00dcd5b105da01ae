// Counts keys in BINS bins of equal width over the range of the key's type. Every block counts in shared memory, in
// COPIES copies of the bins that its threads share out among them, and adds what it found to the result. The parameters
// are macros from -D; README.md describes each.
#include "../common/pack.cuh"
#include "bin.cuh"

constexpr int part_bins = ceil_div(BINS, PARTS);  // bins that a block counts
constexpr int vector = 16 / static_cast<int>(sizeof(KEY));

/// The counts of one block: part_bins bins from `first` on.
struct Counts {
  unsigned int* copies;  // COPIES counters for each bin, side by side: neighbouring threads use different banks
  int first;

  __device__ void add(KEY key) const {
    const int bin = bin_of(key) - first;
    if (PARTS > 1 && (bin < 0 || bin >= part_bins)) return;
    atomicAdd(copies + bin * COPIES + static_cast<int>(threadIdx.x) % COPIES, 1u);
  }
};

/// counts: BINS elements, to which the kernel adds. Grid: one dimension, a multiple of PARTS: PARTS neighbouring blocks
/// read the same keys. Block: BLOCK. Dynamic shared memory: part_bins * COPIES elements of 4 bytes.
extern "C" __global__ void LAUNCH_BOUNDS(BLOCK, 1) histogram(const KEY* keys, unsigned int* counts, long long n) {
  extern __shared__ unsigned int copies[];
  const int thread = static_cast<int>(threadIdx.x);
  const Counts own{copies, static_cast<int>(blockIdx.x) % PARTS * part_bins};
#pragma unroll 1
  for (int i = thread; i < part_bins * COPIES; i += BLOCK) copies[i] = 0;
  __syncthreads();

  constexpr long long pass = static_cast<long long>(BLOCK) * ITEMS * vector;
  const bool packed = rows_take_packs<vector>(keys, vector);
#pragma unroll 1
  for (long long base = blockIdx.x / PARTS * pass; base < n; base += gridDim.x / PARTS * pass) {
    const long long first = base + static_cast<long long>(thread) * vector;
    if (packed && base + pass <= n) {
      Pack<KEY, vector> item[ITEMS];
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) item[i] = load_pack<vector>(keys + first + i * BLOCK * vector);
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
        for (int v = 0; v < vector; ++v) own.add(item[i].x[v]);
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < ITEMS; ++i) {
#pragma unroll 1
        for (int v = 0; v < vector; ++v) {
          const long long index = first + i * BLOCK * vector + v;
          if (index < n) own.add(keys[index]);
        }
      }
    }
  }
  __syncthreads();

#pragma unroll 1
  for (int bin = thread; bin < min_of(part_bins, BINS - own.first); bin += BLOCK) {
    unsigned int sum = 0;
#pragma unroll
    for (int i = 0; i < COPIES; ++i) sum += copies[bin * COPIES + (i + thread) % COPIES];
    if (sum > 0) atomicAdd(counts + own.first + bin, sum);
  }
}

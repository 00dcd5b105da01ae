// y = scale * H * x for each row of a matrix, with the Hadamard matrix H of N rows (Sylvester's order). The parameters
// are macros from -D; README.md describes each.
#include "../common/async_copy.cuh"
#include "../common/element.cuh"
#include "transform.cuh"

using ElementPack = Pack<Element, VECTOR>;

/// The packs of a thread in a layout, and which of them lie in the matrix.
template <unsigned LAYOUT>
class Packs {
 public:
  /// elements: of the matrix from the chunk's first one on; only some of the chunk's rows may exist.
  __device__ explicit Packs(long long elements)
      : elements_(elements > chunk_mask ? chunk_mask + 1 : static_cast<unsigned>(elements)),
        first_(spread<chunk_mask & ~LAYOUT>(threadIdx.x)) {}

  __device__ bool exists(int item) const { return chunk_mask == row_mask || number(item) < elements_; }
  /// Of the first element, in the chunk.
  __device__ unsigned number(int item) const {
    return first_ + spread<LAYOUT>(static_cast<unsigned>(item) << vector_bits);
  }

 private:
  unsigned elements_, first_;
};

/// A thread's packs of the chunk from `from` on, in the layout of the first pass. Those behind the end are zeros.
__device__ inline void load(ElementPack (&packs)[ITEMS], const Element* from, long long elements) {
  const Packs<layout_of_pass(0)> mine(elements);
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    packs[i] = ElementPack{};
    if (mine.exists(i)) packs[i] = load_pack<VECTOR>(from + mine.number(i));
  }
}

__device__ inline void store(Element* to, long long elements, const float (&x)[registers], float scale) {
  const Packs<layout_of_pass(PASSES - 1)> mine(elements);
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    ElementPack pack;
    const float* const from = x + i * VECTOR;
    if constexpr (VECTOR == 1) {
      set(pack.x[0], scale * from[0]);
    } else {
#pragma unroll
      for (int v = 0; v < VECTOR; v += 2) set_pair(pack.x[v], pack.x[v + 1], scale * from[v], scale * from[v + 1]);
    }
    if (mine.exists(i)) store_pack<VECTOR>(to + mine.number(i), pack);
  }
}

#if PREFETCH && HAS_ASYNC_COPY
constexpr int pack_bytes = static_cast<int>(sizeof(ElementPack));
// Bytes of the room for moving elements, before that for the next chunk.
constexpr int moving_bytes = PASSES > 1 ? registers* BLOCK / ROUNDS * 4 : 0;

/// The next chunk on its way to shared memory. Each thread copies and reads its own packs.
class Source {
 public:
  __device__ explicit Source(unsigned char* shared)
      : mine_(reinterpret_cast<ElementPack*>(shared + moving_bytes) + threadIdx.x) {}

  /// Starts copying a chunk, if there is one. The packs of the one before it have been used.
  __device__ void begin(const Element* from, long long elements) {
    const Packs<layout_of_pass(0)> packs(elements);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const bool exists = packs.exists(i);
      async_copy<pack_bytes>(mine_ + i * BLOCK, from + (exists ? packs.number(i) : 0), exists);
    }
    async_copy_commit();
  }
  __device__ void take(ElementPack (&packs)[ITEMS], const Element*, long long) const {
    async_copy_wait<0>();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) packs[i] = mine_[i * BLOCK];
  }

 private:
  ElementPack* mine_;
};
#else
/// Chunks are loaded when they are needed.
class Source {
 public:
  __device__ explicit Source(unsigned char*) {}
  __device__ void begin(const Element*, long long) const {}
  __device__ void take(ElementPack (&packs)[ITEMS], const Element* from, long long elements) const {
    load(packs, from, elements);
  }
};
#endif

/// x, y: rows x N, aligned to 16 bytes; y may be x. Grid: any, up to a block for each chunk of BLOCK * ITEMS * VECTOR
/// elements. Shared memory: 4 bytes for each element that is moved at a time, and the chunk itself if PREFETCH.
extern "C" __global__ void LAUNCH_BOUNDS(BLOCK, MIN_BLOCKS)
    hadamard(const Element* x, Element* y, int rows, float scale) {
  extern __shared__ __align__(16) unsigned char shared[];
  const long long elements = static_cast<long long>(rows) * N;
  constexpr long long chunk = 1ll << chunk_bits;
  const long long step = chunk * gridDim.x;
  long long begin = chunk * blockIdx.x;
  Source source(shared);
  source.begin(x + begin, elements - begin);
#pragma unroll 1
  for (; begin < elements; begin += step) {
    ElementPack packs[ITEMS];
    source.take(packs, x + begin, elements - begin);
    float values[registers];
#pragma unroll
    for (int r = 0; r < registers; ++r) values[r] = to_float(packs[r / VECTOR].x[r % VECTOR]);
    if (begin + step < elements) source.begin(x + begin + step, elements - begin - step);
    transform(reinterpret_cast<float*>(shared), values);
    store(y + begin, elements - begin, values, scale);
  }
}

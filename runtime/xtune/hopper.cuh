// For kernels: what NVIDIA's Hopper (compute capability 9.0, compiled for sm_90a) has beyond CUDA C++, as functions:
// barriers in shared memory, copies of tiles by tensor maps, thread block clusters, and products by a warp or a
// warpgroup. Inline PTX, without NVIDIA's headers, so that NVRTC alone compiles it. On the host backend, each function
// is imitated. Source: NVIDIA, PTX ISA 8.7, the sections named below.
#pragma once

#include <xtune/narrow.cuh>

namespace xtune::hopper {

/// A tensor map, passed by value: `const __grid_constant__ xtune::hopper::TensorMap map`. The same bytes as CUDA's
/// CUtensorMap.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

/// A barrier in shared memory (mbarrier). A phase ends when all arrivals and all expected bytes have come.
struct Barrier {
  unsigned long long state;
};

/// How 16-byte parts of a tile in shared memory are exchanged against bank conflicts: within 8 rows of this many bytes,
/// the number of a part is combined with the number of its row by xor. A tile must start at a multiple of eight rows.
enum class Swizzle { none = 0, bytes128 = 1, bytes64 = 2, bytes32 = 3 };

/// Element types of a product.
enum class Type { f16, bf16, tf32, e4m3, e5m2, s8 };

/// Which dimension of a matrix in shared memory is contiguous: the sum's (K), or the other one (M or N). The latter
/// only for f16 and bf16.
enum class Major { k = 0, mn = 1 };

/// How long the L2 cache keeps what a copy touches: `first` goes before other lines do, `last` after them.
enum class Cache : unsigned long long {
  normal = 0x1000000000000000,
  first = 0x12f0000000000000,
  last = 0x14f0000000000000,
};

/// Elements along K that one product takes: 32 bytes.
__host__ __device__ constexpr int product_k(Type type) {
  return type == Type::tf32 ? 8 : type == Type::f16 || type == Type::bf16 ? 16 : 32;
}

/// Two numbers rounded to TYPE (f16 or bf16), the first in the lower half: an operand of the products.
template <Type TYPE>
__host__ __device__ inline unsigned narrow(float low, float high) {
  static_assert(TYPE == Type::f16 || TYPE == Type::bf16, "only types of 16 bits");
  return TYPE == Type::f16 ? detail::f16_pair(low, high) : detail::bf16_pair(low, high);
}
/// The two numbers of such a pair, the one in the lower half first.
template <Type TYPE>
__host__ __device__ inline pack<float, 2> widen(unsigned both) {
  static_assert(TYPE == Type::f16 || TYPE == Type::bf16, "only types of 16 bits");
  const auto low = static_cast<unsigned short>(both), high = static_cast<unsigned short>(both >> 16);
  pack<float, 2> numbers;
  numbers[0] = TYPE == Type::f16 ? detail::f16_value(low) : detail::bf16_value(low);
  numbers[1] = TYPE == Type::f16 ? detail::f16_value(high) : detail::bf16_value(high);
  return numbers;
}

}  // namespace xtune::hopper

#if defined(XTUNE_HOST)
#include <xtune_host_hopper.h>
#else

namespace xtune::hopper {

/// An address in this block's shared memory, as instructions take it.
__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// --- Thread block clusters -------------------------------------------------------------------------------------------

/// This block's number in its cluster.
__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Blocks in a cluster.
__device__ inline unsigned cluster_size() {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
/// All threads of the cluster arrive, and then wait; memory written before the first is visible after the second.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
/// Arrives without waiting for this thread's writes: only barriers before fence_init are visible after the wait.
__device__ inline void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
/// The same variable in the shared memory of another block of the cluster, as an address for load_remote and
/// store_remote.
__device__ inline unsigned remote_address(const void* pointer, unsigned rank) {
  unsigned remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(pointer)), "r"(rank));
  return remote;
}
__device__ inline float load_remote(unsigned address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}
__device__ inline void store_remote(unsigned address, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

// --- Barriers in shared memory (section "mbarrier") ------------------------------------------------------------------

/// By one thread, before any use; then fence_init, and a barrier of the block or cluster.
__device__ inline void init(Barrier& barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}
__device__ inline void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/// Arrives, and makes the phase wait for these bytes too.
__device__ inline void arrive_expect(Barrier& barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}
__device__ inline void arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}
/// Arrives at the same barrier of another block of the cluster. For a thread that has only read: its writes to memory
/// are not made visible there.
__device__ inline void arrive_remote(Barrier& barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(rank)
      : "memory");
}
/// Waits until the phase of this parity has ended: 0 for the first, third, ... phase, 1 for the second, fourth, ...
__device__ inline void wait(Barrier& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}
/// The same after arrivals from other blocks of the cluster.
__device__ inline void wait_cluster(Barrier& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// --- Copies of tiles (section "cp.async.bulk.tensor"). Coordinates are in elements, that of the contiguous dimension
// first; elements outside the tensor read as zero, and are not written. One thread calls them. ------------------------

/// Fetches the map itself.
__device__ inline void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
/// Starts a copy to shared memory, whose bytes arrive at the barrier.
__device__ inline void load_tile(void* to, const TensorMap& map, Barrier& barrier, int x, int y,
                                 Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, "
      "%4}], [%2], %5;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "l"(cache)
      : "memory");
}
__device__ inline void load_tile(void* to, const TensorMap& map, Barrier& barrier, int x, int y, int z,
                                 Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, "
      "%5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z), "l"(cache)
      : "memory");
}
__device__ inline void load_tile(void* to, const TensorMap& map, Barrier& barrier, int x, int y, int z, int w,
                                 Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4, "
      "%5, %6}], [%2], %7;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z), "r"(w), "l"(cache)
      : "memory");
}
/// The same to several blocks of the cluster, whose bits are set in `blocks`: each gets the tile at the address, and
/// the bytes at the barrier, that have this offset in its own shared memory.
__device__ inline void load_tile_multicast(void* to, const TensorMap& map, Barrier& barrier, int x, int y,
                                           unsigned short blocks, Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
      "[%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "h"(blocks), "l"(cache)
      : "memory");
}
__device__ inline void load_tile_multicast(void* to, const TensorMap& map, Barrier& barrier, int x, int y, int z,
                                           unsigned short blocks, Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
      "[%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z), "h"(blocks), "l"(cache)
      : "memory");
}
/// Starts a copy from shared memory. What threads wrote there is only seen after their fence_async and a barrier.
__device__ inline void store_tile(const TensorMap& map, const void* from, int x, int y, Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3}], [%1], %4;" ::"l"(&map),
      "r"(shared_address(from)), "r"(x), "r"(y), "l"(cache)
      : "memory");
}
__device__ inline void store_tile(const TensorMap& map, const void* from, int x, int y, int z,
                                  Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3, %4}], [%1], %5;" ::"l"(&map),
      "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "l"(cache)
      : "memory");
}
__device__ inline void store_tile(const TensorMap& map, const void* from, int x, int y, int z, int w,
                                  Cache cache = Cache::normal) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(
          &map),
      "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(w), "l"(cache)
      : "memory");
}
/// Closes the group of this thread's stores since the last call.
__device__ inline void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until at most PENDING of this thread's groups still read shared memory.
template <int PENDING>
__device__ inline void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
/// Waits until at most PENDING of this thread's groups are unfinished.
template <int PENDING>
__device__ inline void store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}
/// Makes this thread's writes to shared memory visible to the copies and products that follow a barrier.
__device__ inline void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// --- Reads by threads ------------------------------------------------------------------------------------------------

/// Starts reading 1, 2 or 4 bytes of memory that the kernel does not write, in the lower bits. If they are not
/// `present`, nothing is read, and the result is zero. It compiles without a branch, so a thread can have many reads in
/// flight.
template <int BYTES, Cache CACHE = Cache::normal>
__device__ inline unsigned load_present(const void* from, bool present) {
  static_assert(BYTES == 1 || BYTES == 2 || BYTES == 4, "1, 2 or 4 bytes");
  unsigned value;
#define XTUNE_LOAD_PRESENT(size)                   \
  asm volatile(                                    \
      "{\n"                                        \
      ".reg .pred present;\n"                      \
      "setp.ne.b32 present, %2, 0;\n"              \
      "mov.u32 %0, 0;\n"                           \
      "@present ld.global.nc.L2::cache_hint." size \
      " %0, [%1], %3;\n"                           \
      "}"                                          \
      : "=r"(value)                                \
      : "l"(from), "r"(static_cast<int>(present)), "l"(CACHE))
  if constexpr (BYTES == 4)
    XTUNE_LOAD_PRESENT("u32");
  else if constexpr (BYTES == 2)
    XTUNE_LOAD_PRESENT("u16");
  else
    XTUNE_LOAD_PRESENT("u8");
#undef XTUNE_LOAD_PRESENT
  return value;
}

// --- Threads ---------------------------------------------------------------------------------------------------------

/// Waits for all `threads` of barrier 1 to 15; each of them calls this or arrive_named.
__device__ inline void sync_named(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void arrive_named(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/// Registers of each thread of a warpgroup, a multiple of 8 from 24 to 256. Needs __launch_bounds__(threads, 1).
template <int COUNT>
__device__ inline void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT>
__device__ inline void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// --- Matrices of 8 x 8 elements of 16 bits between registers and shared memory. A register holds two elements; the
// first 8 lanes give the rows' addresses of the first matrix, and so on (sections "stmatrix", "ldmatrix") -------------

__device__ inline void store_matrices(void* row, unsigned a, unsigned b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)), "r"(a), "r"(b)
               : "memory");
}
__device__ inline void store_matrices(void* row, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}
/// Each matrix transposed.
__device__ inline void store_matrices_transposed(void* row, unsigned a, unsigned b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)), "r"(a),
               "r"(b)
               : "memory");
}
__device__ inline void store_matrices_transposed(void* row, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
__device__ inline void load_matrices(const void* row, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void load_matrices_transposed(const void* row, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

// --- Products by a warp (section "mma") ------------------------------------------------------------------------------

/// Adds x * y to the sums, 16 x 8, for 16 elements along K, of TYPE f16 or bf16. The operands are as load_matrices
/// gives them: x the four matrices of 16 rows, first those of the lower half along K; y0 and y1 the two of 8 columns,
/// along K. sums: four, laid out as two matrices of pairs: of row lane / 4, and of the row 8 below.
template <Type TYPE>
__device__ inline void warp_product(float* sums, const unsigned (&x)[4], unsigned y0, unsigned y1) {
  static_assert(TYPE == Type::f16 || TYPE == Type::bf16, "only types of 16 bits");
  if constexpr (TYPE == Type::f16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
  }
}

// --- Products by the 128 threads of a warpgroup (section "wgmma") ----------------------------------------------------

/// A matrix in shared memory. It begins with the tile's address; `group_bytes` lie between groups of 8 rows (of 8 steps
/// along K for Major::mn), `block_bytes` between blocks of as many elements as a swizzled row has along M or N
/// (Major::mn), or of 16 bytes along K (Swizzle::none).
struct Matrix {
  unsigned long long bits;
};
template <Swizzle SWIZZLE>
__device__ inline Matrix matrix(const void* tile, unsigned group_bytes, unsigned block_bytes = 16) {
  return {static_cast<unsigned long long>((shared_address(tile) & 0x3ffffu) >> 4) |
          static_cast<unsigned long long>(block_bytes >> 4) << 16 |
          static_cast<unsigned long long>(group_bytes >> 4) << 32 | static_cast<unsigned long long>(SWIZZLE) << 62};
}
/// The same matrix, beginning `bytes` later (a multiple of 16): the next 32 bytes along K of a swizzled row, too.
__device__ inline Matrix advance(Matrix matrix, unsigned bytes) { return {matrix.bits + (bytes >> 4)}; }

/// Before the first product, and where registers of sums or operands were changed.
__device__ inline void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes the group of products since the last call.
__device__ inline void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most PENDING groups are unfinished. Their sums must not be used before.
template <int PENDING>
__device__ inline void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
/// Keeps the compiler from moving accesses to a sum across this point.
template <int COUNT>
__device__ inline void keep(float (&sums)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
/// The same for operands in registers.
template <int STEPS>
__device__ inline void keep(unsigned (&operands)[STEPS][4]) {
#pragma unroll
  for (int i = 0; i < STEPS; ++i)
    asm volatile("" : "+r"(operands[i][0]), "+r"(operands[i][1]), "+r"(operands[i][2]), "+r"(operands[i][3])::"memory");
}

/// Keeps the compiler from moving a products_wait that follows before the computation of x: it prefers to wait early,
/// though work that needs no sums would fill the time. Does nothing; only if x is the largest float, the thread yields.
__device__ inline void wait_after(float x) {
  asm volatile(
      "{\n"
      ".reg .pred largest;\n"
      "setp.eq.f32 largest, %0, 0f7f7fffff;\n"
      "@largest nanosleep.u32 0;\n"
      "}" ::"f"(x)
      : "memory");
}

// clang-format off
// The sums of a product of N columns as operands of an instruction, and their numbers there.
#define XTUNE_SUMS_8(type) type(sums[0]), type(sums[1]), type(sums[2]), type(sums[3])
#define XTUNE_NUMBERS_8 "%0, %1, %2, %3"
#define XTUNE_SUMS_16(type) XTUNE_SUMS_8(type), type(sums[4]), type(sums[5]), type(sums[6]), type(sums[7])
#define XTUNE_NUMBERS_16 XTUNE_NUMBERS_8 ", %4, %5, %6, %7"
#define XTUNE_SUMS_24(type) XTUNE_SUMS_16(type), type(sums[8]), type(sums[9]), type(sums[10]), type(sums[11])
#define XTUNE_NUMBERS_24 XTUNE_NUMBERS_16 ", %8, %9, %10, %11"
#define XTUNE_SUMS_32(type) XTUNE_SUMS_24(type), type(sums[12]), type(sums[13]), type(sums[14]), type(sums[15])
#define XTUNE_NUMBERS_32 XTUNE_NUMBERS_24 ", %12, %13, %14, %15"
#define XTUNE_SUMS_40(type) XTUNE_SUMS_32(type), type(sums[16]), type(sums[17]), type(sums[18]), type(sums[19])
#define XTUNE_NUMBERS_40 XTUNE_NUMBERS_32 ", %16, %17, %18, %19"
#define XTUNE_SUMS_48(type) XTUNE_SUMS_40(type), type(sums[20]), type(sums[21]), type(sums[22]), type(sums[23])
#define XTUNE_NUMBERS_48 XTUNE_NUMBERS_40 ", %20, %21, %22, %23"
#define XTUNE_SUMS_56(type) XTUNE_SUMS_48(type), type(sums[24]), type(sums[25]), type(sums[26]), type(sums[27])
#define XTUNE_NUMBERS_56 XTUNE_NUMBERS_48 ", %24, %25, %26, %27"
#define XTUNE_SUMS_64(type) XTUNE_SUMS_56(type), type(sums[28]), type(sums[29]), type(sums[30]), type(sums[31])
#define XTUNE_NUMBERS_64 XTUNE_NUMBERS_56 ", %28, %29, %30, %31"
#define XTUNE_SUMS_72(type) XTUNE_SUMS_64(type), type(sums[32]), type(sums[33]), type(sums[34]), type(sums[35])
#define XTUNE_NUMBERS_72 XTUNE_NUMBERS_64 ", %32, %33, %34, %35"
#define XTUNE_SUMS_80(type) XTUNE_SUMS_72(type), type(sums[36]), type(sums[37]), type(sums[38]), type(sums[39])
#define XTUNE_NUMBERS_80 XTUNE_NUMBERS_72 ", %36, %37, %38, %39"
#define XTUNE_SUMS_88(type) XTUNE_SUMS_80(type), type(sums[40]), type(sums[41]), type(sums[42]), type(sums[43])
#define XTUNE_NUMBERS_88 XTUNE_NUMBERS_80 ", %40, %41, %42, %43"
#define XTUNE_SUMS_96(type) XTUNE_SUMS_88(type), type(sums[44]), type(sums[45]), type(sums[46]), type(sums[47])
#define XTUNE_NUMBERS_96 XTUNE_NUMBERS_88 ", %44, %45, %46, %47"
#define XTUNE_SUMS_104(type) XTUNE_SUMS_96(type), type(sums[48]), type(sums[49]), type(sums[50]), type(sums[51])
#define XTUNE_NUMBERS_104 XTUNE_NUMBERS_96 ", %48, %49, %50, %51"
#define XTUNE_SUMS_112(type) XTUNE_SUMS_104(type), type(sums[52]), type(sums[53]), type(sums[54]), type(sums[55])
#define XTUNE_NUMBERS_112 XTUNE_NUMBERS_104 ", %52, %53, %54, %55"
#define XTUNE_SUMS_120(type) XTUNE_SUMS_112(type), type(sums[56]), type(sums[57]), type(sums[58]), type(sums[59])
#define XTUNE_NUMBERS_120 XTUNE_NUMBERS_112 ", %56, %57, %58, %59"
#define XTUNE_SUMS_128(type) XTUNE_SUMS_120(type), type(sums[60]), type(sums[61]), type(sums[62]), type(sums[63])
#define XTUNE_NUMBERS_128 XTUNE_NUMBERS_120 ", %60, %61, %62, %63"
#define XTUNE_SUMS_136(type) XTUNE_SUMS_128(type), type(sums[64]), type(sums[65]), type(sums[66]), type(sums[67])
#define XTUNE_NUMBERS_136 XTUNE_NUMBERS_128 ", %64, %65, %66, %67"
#define XTUNE_SUMS_144(type) XTUNE_SUMS_136(type), type(sums[68]), type(sums[69]), type(sums[70]), type(sums[71])
#define XTUNE_NUMBERS_144 XTUNE_NUMBERS_136 ", %68, %69, %70, %71"
#define XTUNE_SUMS_152(type) XTUNE_SUMS_144(type), type(sums[72]), type(sums[73]), type(sums[74]), type(sums[75])
#define XTUNE_NUMBERS_152 XTUNE_NUMBERS_144 ", %72, %73, %74, %75"
#define XTUNE_SUMS_160(type) XTUNE_SUMS_152(type), type(sums[76]), type(sums[77]), type(sums[78]), type(sums[79])
#define XTUNE_NUMBERS_160 XTUNE_NUMBERS_152 ", %76, %77, %78, %79"
#define XTUNE_SUMS_168(type) XTUNE_SUMS_160(type), type(sums[80]), type(sums[81]), type(sums[82]), type(sums[83])
#define XTUNE_NUMBERS_168 XTUNE_NUMBERS_160 ", %80, %81, %82, %83"
#define XTUNE_SUMS_176(type) XTUNE_SUMS_168(type), type(sums[84]), type(sums[85]), type(sums[86]), type(sums[87])
#define XTUNE_NUMBERS_176 XTUNE_NUMBERS_168 ", %84, %85, %86, %87"
#define XTUNE_SUMS_184(type) XTUNE_SUMS_176(type), type(sums[88]), type(sums[89]), type(sums[90]), type(sums[91])
#define XTUNE_NUMBERS_184 XTUNE_NUMBERS_176 ", %88, %89, %90, %91"
#define XTUNE_SUMS_192(type) XTUNE_SUMS_184(type), type(sums[92]), type(sums[93]), type(sums[94]), type(sums[95])
#define XTUNE_NUMBERS_192 XTUNE_NUMBERS_184 ", %92, %93, %94, %95"
#define XTUNE_SUMS_200(type) XTUNE_SUMS_192(type), type(sums[96]), type(sums[97]), type(sums[98]), type(sums[99])
#define XTUNE_NUMBERS_200 XTUNE_NUMBERS_192 ", %96, %97, %98, %99"
#define XTUNE_SUMS_208(type) XTUNE_SUMS_200(type), type(sums[100]), type(sums[101]), type(sums[102]), type(sums[103])
#define XTUNE_NUMBERS_208 XTUNE_NUMBERS_200 ", %100, %101, %102, %103"
#define XTUNE_SUMS_216(type) XTUNE_SUMS_208(type), type(sums[104]), type(sums[105]), type(sums[106]), type(sums[107])
#define XTUNE_NUMBERS_216 XTUNE_NUMBERS_208 ", %104, %105, %106, %107"
#define XTUNE_SUMS_224(type) XTUNE_SUMS_216(type), type(sums[108]), type(sums[109]), type(sums[110]), type(sums[111])
#define XTUNE_NUMBERS_224 XTUNE_NUMBERS_216 ", %108, %109, %110, %111"
#define XTUNE_SUMS_232(type) XTUNE_SUMS_224(type), type(sums[112]), type(sums[113]), type(sums[114]), type(sums[115])
#define XTUNE_NUMBERS_232 XTUNE_NUMBERS_224 ", %112, %113, %114, %115"
#define XTUNE_SUMS_240(type) XTUNE_SUMS_232(type), type(sums[116]), type(sums[117]), type(sums[118]), type(sums[119])
#define XTUNE_NUMBERS_240 XTUNE_NUMBERS_232 ", %116, %117, %118, %119"
#define XTUNE_SUMS_248(type) XTUNE_SUMS_240(type), type(sums[120]), type(sums[121]), type(sums[122]), type(sums[123])
#define XTUNE_NUMBERS_248 XTUNE_NUMBERS_240 ", %120, %121, %122, %123"
#define XTUNE_SUMS_256(type) XTUNE_SUMS_248(type), type(sums[124]), type(sums[125]), type(sums[126]), type(sums[127])
#define XTUNE_NUMBERS_256 XTUNE_NUMBERS_248 ", %124, %125, %126, %127"
// clang-format on

/// The instructions for products of 64 x N.
template <int N>
struct Product;

// An instruction with its operands: the sums; A, in shared memory or in four registers; B in shared memory; whether to
// add to the sums. `majors` and the operands that it numbers are only for types of 16 bits.
#define XTUNE_PRODUCT_TEXT(n, k, sum, type, a, b, add, last)                                                         \
  "{\n.reg .pred add;\nsetp.ne.b32 add, %" #add ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k" #k "." sum "." type \
  "." type " {" XTUNE_NUMBERS_##n "}, " a ", %" #b ", add" last ";\n}"
#define XTUNE_PRODUCT_SHARED(n, k, type, a, b, add, majors, ...)                      \
  asm volatile(XTUNE_PRODUCT_TEXT(n, k, "f32", type, "%" #a, b, add, ", 1, 1" majors) \
               : XTUNE_SUMS_##n("+f")                                                 \
               : "l"(x.bits), "l"(y.bits), "r"(static_cast<int>(accumulate))__VA_ARGS__)
#define XTUNE_PRODUCT_REGISTERS(n, k, type, a0, a1, a2, a3, b, add, majors, ...)                                 \
  asm volatile(                                                                                                  \
      XTUNE_PRODUCT_TEXT(n, k, "f32", type, "{%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}", b, add, ", 1, 1" majors) \
      : XTUNE_SUMS_##n("+f")                                                                                     \
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y.bits), "r"(static_cast<int>(accumulate))__VA_ARGS__)

// r0 and the following are the numbers after those of the sums.
#define XTUNE_PRODUCT(n, r0, r1, r2, r3, r4, r5, r6, r7)                                                        \
  template <>                                                                                                   \
  struct Product<n> {                                                                                           \
    template <Type TYPE, Major X, Major Y>                                                                      \
    __device__ static void shared(float (&sums)[n / 2], Matrix x, Matrix y, bool accumulate) {                  \
      if constexpr (TYPE == Type::f16)                                                                          \
        XTUNE_PRODUCT_SHARED(n, 16, "f16", r0, r1, r2, ", %" #r3 ", %" #r4, , "n"(int(X)), "n"(int(Y)));        \
      else if constexpr (TYPE == Type::bf16)                                                                    \
        XTUNE_PRODUCT_SHARED(n, 16, "bf16", r0, r1, r2, ", %" #r3 ", %" #r4, , "n"(int(X)), "n"(int(Y)));       \
      else if constexpr (TYPE == Type::tf32)                                                                    \
        XTUNE_PRODUCT_SHARED(n, 8, "tf32", r0, r1, r2, "");                                                     \
      else if constexpr (TYPE == Type::e4m3)                                                                    \
        XTUNE_PRODUCT_SHARED(n, 32, "e4m3", r0, r1, r2, "");                                                    \
      else                                                                                                      \
        XTUNE_PRODUCT_SHARED(n, 32, "e5m2", r0, r1, r2, "");                                                    \
    }                                                                                                           \
    template <Type TYPE, Major Y>                                                                               \
    __device__ static void registers(float (&sums)[n / 2], const unsigned (&x)[4], Matrix y, bool accumulate) { \
      if constexpr (TYPE == Type::f16)                                                                          \
        XTUNE_PRODUCT_REGISTERS(n, 16, "f16", r0, r1, r2, r3, r4, r5, ", %" #r6, , "n"(int(Y)));                \
      else if constexpr (TYPE == Type::bf16)                                                                    \
        XTUNE_PRODUCT_REGISTERS(n, 16, "bf16", r0, r1, r2, r3, r4, r5, ", %" #r6, , "n"(int(Y)));               \
      else if constexpr (TYPE == Type::tf32)                                                                    \
        XTUNE_PRODUCT_REGISTERS(n, 8, "tf32", r0, r1, r2, r3, r4, r5, "");                                      \
      else if constexpr (TYPE == Type::e4m3)                                                                    \
        XTUNE_PRODUCT_REGISTERS(n, 32, "e4m3", r0, r1, r2, r3, r4, r5, "");                                     \
      else                                                                                                      \
        XTUNE_PRODUCT_REGISTERS(n, 32, "e5m2", r0, r1, r2, r3, r4, r5, "");                                     \
    }                                                                                                           \
    __device__ static void shared(int (&sums)[n / 2], Matrix x, Matrix y, bool accumulate) {                    \
      asm volatile(XTUNE_PRODUCT_TEXT(n, 32, "s32", "s8", "%" #r0, r1, r2, "")                                  \
                   : XTUNE_SUMS_##n("+r")                                                                       \
                   : "l"(x.bits), "l"(y.bits), "r"(static_cast<int>(accumulate)));                              \
    }                                                                                                           \
  };
XTUNE_PRODUCT(8, 4, 5, 6, 7, 8, 9, 10, 11)
XTUNE_PRODUCT(16, 8, 9, 10, 11, 12, 13, 14, 15)
XTUNE_PRODUCT(24, 12, 13, 14, 15, 16, 17, 18, 19)
XTUNE_PRODUCT(32, 16, 17, 18, 19, 20, 21, 22, 23)
XTUNE_PRODUCT(40, 20, 21, 22, 23, 24, 25, 26, 27)
XTUNE_PRODUCT(48, 24, 25, 26, 27, 28, 29, 30, 31)
XTUNE_PRODUCT(56, 28, 29, 30, 31, 32, 33, 34, 35)
XTUNE_PRODUCT(64, 32, 33, 34, 35, 36, 37, 38, 39)
XTUNE_PRODUCT(72, 36, 37, 38, 39, 40, 41, 42, 43)
XTUNE_PRODUCT(80, 40, 41, 42, 43, 44, 45, 46, 47)
XTUNE_PRODUCT(88, 44, 45, 46, 47, 48, 49, 50, 51)
XTUNE_PRODUCT(96, 48, 49, 50, 51, 52, 53, 54, 55)
XTUNE_PRODUCT(104, 52, 53, 54, 55, 56, 57, 58, 59)
XTUNE_PRODUCT(112, 56, 57, 58, 59, 60, 61, 62, 63)
XTUNE_PRODUCT(120, 60, 61, 62, 63, 64, 65, 66, 67)
XTUNE_PRODUCT(128, 64, 65, 66, 67, 68, 69, 70, 71)
XTUNE_PRODUCT(136, 68, 69, 70, 71, 72, 73, 74, 75)
XTUNE_PRODUCT(144, 72, 73, 74, 75, 76, 77, 78, 79)
XTUNE_PRODUCT(152, 76, 77, 78, 79, 80, 81, 82, 83)
XTUNE_PRODUCT(160, 80, 81, 82, 83, 84, 85, 86, 87)
XTUNE_PRODUCT(168, 84, 85, 86, 87, 88, 89, 90, 91)
XTUNE_PRODUCT(176, 88, 89, 90, 91, 92, 93, 94, 95)
XTUNE_PRODUCT(184, 92, 93, 94, 95, 96, 97, 98, 99)
XTUNE_PRODUCT(192, 96, 97, 98, 99, 100, 101, 102, 103)
XTUNE_PRODUCT(200, 100, 101, 102, 103, 104, 105, 106, 107)
XTUNE_PRODUCT(208, 104, 105, 106, 107, 108, 109, 110, 111)
XTUNE_PRODUCT(216, 108, 109, 110, 111, 112, 113, 114, 115)
XTUNE_PRODUCT(224, 112, 113, 114, 115, 116, 117, 118, 119)
XTUNE_PRODUCT(232, 116, 117, 118, 119, 120, 121, 122, 123)
XTUNE_PRODUCT(240, 120, 121, 122, 123, 124, 125, 126, 127)
XTUNE_PRODUCT(248, 124, 125, 126, 127, 128, 129, 130, 131)
XTUNE_PRODUCT(256, 128, 129, 130, 131, 132, 133, 134, 135)

#undef XTUNE_PRODUCT
/// Starts sums += x * y, or sums = x * y unless `accumulate`, for x of 64 x product_k(TYPE) and y of product_k(TYPE) x
/// N, N a multiple of 8 up to 256. Thread t has the sums of rows 16 * (t / 32) + t % 32 / 4 and, 8 below, and of
/// columns 8 * i + t % 4 * 2 and the next one: four for each i, row by row.
template <Type TYPE, Major X = Major::k, Major Y = Major::k, int COUNT>
__device__ inline void product(float (&sums)[COUNT], Matrix x, Matrix y, bool accumulate) {
  static_assert(TYPE != Type::s8, "products of integers have sums of int");
  static_assert(COUNT % 4 == 0 && COUNT <= 128, "N, twice the number of sums, must be a multiple of 8 up to 256");
  static_assert((X == Major::k && Y == Major::k) || TYPE == Type::f16 || TYPE == Type::bf16,
                "only f16 and bf16 may be contiguous along M or N");
  Product<COUNT * 2>::template shared<TYPE, X, Y>(sums, x, y, accumulate);
}
/// The same for integers of 8 bits; N is 8, 24, or a multiple of 16.
template <int COUNT>
__device__ inline void product(int (&sums)[COUNT], Matrix x, Matrix y, bool accumulate) {
  static_assert(COUNT == 4 || COUNT == 12 || (COUNT % 8 == 0 && COUNT <= 128),
                "N, twice the number of sums, must be 8, 24, or a multiple of 16 up to 256");
  Product<COUNT * 2>::shared(sums, x, y, accumulate);
}
/// The same with x in registers, laid out as sums are: 32 bits, so two elements of 16 bits, for each pair of columns.
template <Type TYPE, Major Y = Major::k, int COUNT>
__device__ inline void product(float (&sums)[COUNT], const unsigned (&x)[4], Matrix y, bool accumulate) {
  static_assert(TYPE != Type::s8, "products of integers have sums of int");
  static_assert(COUNT % 4 == 0 && COUNT <= 128, "N, twice the number of sums, must be a multiple of 8 up to 256");
  static_assert(Y == Major::k || TYPE == Type::f16 || TYPE == Type::bf16,
                "only f16 and bf16 may be contiguous along N");
  Product<COUNT * 2>::template registers<TYPE, Y>(sums, x, y, accumulate);
}

}  // namespace xtune::hopper

#endif

// The bodies of <xtune/hopper.cuh>'s functions on a CPU: they call the process, which runs the block. Included by that
// header, which describes them.
#pragma once
#pragma GCC system_header

#include "xtune_host_threads.h"

namespace xtune::hopper {

static inline const XtuneHopperServices& xtune_hopper() { return *xtune_services->hopper; }

XTUNE_DEVICE unsigned cluster_rank() { return xtune_hopper().cluster_rank(); }
XTUNE_DEVICE unsigned cluster_size() { return xtune_hopper().cluster_size(); }
XTUNE_DEVICE void cluster_arrive() { XTUNE_WAIT(xtune_hopper().cluster_arrive()); }
XTUNE_DEVICE void cluster_arrive_relaxed() { cluster_arrive(); }
XTUNE_DEVICE void cluster_wait() { XTUNE_WAIT(xtune_hopper().cluster_wait()); }
XTUNE_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
XTUNE_DEVICE unsigned remote_address(const void* pointer, unsigned rank) {
  return xtune_hopper().remote_address(pointer, rank);
}
XTUNE_DEVICE float load_remote(unsigned address) {
  return *static_cast<const float*>(xtune_hopper().remote_pointer(address, sizeof(float)));
}
XTUNE_DEVICE void store_remote(unsigned address, float value) {
  *static_cast<float*>(xtune_hopper().remote_pointer(address, sizeof(float))) = value;
}

XTUNE_DEVICE void init(Barrier& barrier, unsigned arrivals) {
  XTUNE_WAIT(xtune_hopper().init(&barrier.state, arrivals));
}
XTUNE_DEVICE void fence_init() {}
XTUNE_DEVICE void arrive_expect(Barrier& barrier, unsigned bytes) {
  XTUNE_WAIT(xtune_hopper().arrive(&barrier.state, bytes));
}
XTUNE_DEVICE void arrive(Barrier& barrier) { arrive_expect(barrier, 0); }
XTUNE_DEVICE void arrive_remote(Barrier& barrier, unsigned rank) {
  XTUNE_WAIT(xtune_hopper().arrive_remote(&barrier.state, rank));
}
XTUNE_DEVICE void wait(Barrier& barrier, unsigned parity) { XTUNE_WAIT(xtune_hopper().wait(&barrier.state, parity)); }
XTUNE_DEVICE void wait_cluster(Barrier& barrier, unsigned parity) { wait(barrier, parity); }

XTUNE_DEVICE void prefetch(const TensorMap&) {}

template <int RANK>
XTUNE_DEVICE void xtune_load(void* to, const TensorMap& map, Barrier& barrier, const int (&at)[RANK], unsigned blocks) {
  const XtuneTile tile = {&map, to, &barrier.state, at, RANK, blocks};
  XTUNE_WAIT(xtune_hopper().load_tile(&tile));
}
template <int RANK>
XTUNE_DEVICE void xtune_store(const TensorMap& map, const void* from, const int (&at)[RANK]) {
  const XtuneTile tile = {&map, const_cast<void*>(from), nullptr, at, RANK, 0};
  XTUNE_WAIT(xtune_hopper().store_tile(&tile));
}
XTUNE_DEVICE void load_tile(void* to, const TensorMap& map, Barrier& barrier, int x, int y, Cache = Cache::normal) {
  xtune_load(to, map, barrier, {x, y}, 0);
}
XTUNE_DEVICE void load_tile(void* to, const TensorMap& map, Barrier& barrier, int x, int y, int z,
                            Cache = Cache::normal) {
  xtune_load(to, map, barrier, {x, y, z}, 0);
}
XTUNE_DEVICE void load_tile(void* to, const TensorMap& map, Barrier& barrier, int x, int y, int z, int w,
                            Cache = Cache::normal) {
  xtune_load(to, map, barrier, {x, y, z, w}, 0);
}
XTUNE_DEVICE void load_tile(void* to, const TensorMap& map, Barrier& barrier, int x, int y, int z, int w, int v,
                            Cache = Cache::normal) {
  xtune_load(to, map, barrier, {x, y, z, w, v}, 0);
}
XTUNE_DEVICE void load_tile_multicast(void* to, const TensorMap& map, Barrier& barrier, int x, int y,
                                      unsigned short blocks, Cache = Cache::normal) {
  xtune_load(to, map, barrier, {x, y}, blocks);
}
XTUNE_DEVICE void load_tile_multicast(void* to, const TensorMap& map, Barrier& barrier, int x, int y, int z,
                                      unsigned short blocks, Cache = Cache::normal) {
  xtune_load(to, map, barrier, {x, y, z}, blocks);
}
XTUNE_DEVICE void store_tile(const TensorMap& map, const void* from, int x, int y, Cache = Cache::normal) {
  xtune_store(map, from, {x, y});
}
XTUNE_DEVICE void store_tile(const TensorMap& map, const void* from, int x, int y, int z, Cache = Cache::normal) {
  xtune_store(map, from, {x, y, z});
}
XTUNE_DEVICE void store_tile(const TensorMap& map, const void* from, int x, int y, int z, int w,
                             Cache = Cache::normal) {
  xtune_store(map, from, {x, y, z, w});
}
XTUNE_DEVICE void store_commit() { XTUNE_WAIT(xtune_hopper().store_commit()); }
template <int PENDING>
XTUNE_DEVICE void store_wait_read() {
  XTUNE_WAIT(xtune_hopper().store_wait(PENDING, true));
}
template <int PENDING>
XTUNE_DEVICE void store_wait() {
  XTUNE_WAIT(xtune_hopper().store_wait(PENDING, false));
}
XTUNE_DEVICE void fence_async() { __asm__ __volatile__("" ::: "memory"); }

template <int BYTES, Cache = Cache::normal>
XTUNE_DEVICE unsigned load_present(const void* from, bool present) {
  static_assert(BYTES == 1 || BYTES == 2 || BYTES == 4, "1, 2 or 4 bytes");
  unsigned value = 0;
  if (present) memcpy(&value, from, BYTES);
  return value;
}

XTUNE_DEVICE void sync_named(int barrier, int threads) { XTUNE_WAIT(xtune_hopper().named(barrier, threads, true)); }
XTUNE_DEVICE void arrive_named(int barrier, int threads) { XTUNE_WAIT(xtune_hopper().named(barrier, threads, false)); }
template <int COUNT>
XTUNE_DEVICE void fewer_registers() {
  static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "a multiple of 8 from 24 to 256");
}
template <int COUNT>
XTUNE_DEVICE void more_registers() {
  fewer_registers<COUNT>();
}

// Lane 8 * m + r has the address of row r of matrix m. Lane l holds elements 2 * (l % 4) and the next one of row l / 4;
// transposed, rows 2 * (l % 4) and the next one of column l / 4.
XTUNE_DEVICE void xtune_check_row(const void* own, int matrices) {
  if (xtune_lane() < 8 * matrices) XTUNE_WAIT(xtune_hopper().check_matrix_row(own));
}
XTUNE_DEVICE char* xtune_row(const void* own, int matrix, int row) {
  return reinterpret_cast<char*>(__shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(own), 8 * matrix + row));
}
template <int COUNT>
XTUNE_DEVICE __attribute__((noinline)) void xtune_store_matrices(void* row, const unsigned (&values)[COUNT],
                                                                 bool transposed) {
  const int lane = xtune_lane(), in_row = lane % 4 * 2;
  xtune_check_row(row, COUNT);
  for (int m = 0; m < COUNT; ++m) {
    const unsigned short halves[2] = {static_cast<unsigned short>(values[m]),
                                      static_cast<unsigned short>(values[m] >> 16)};
    for (int i = 0; i < 2; ++i) {
      char* const to = xtune_row(row, m, transposed ? in_row + i : lane / 4);
      memcpy(to + 2 * (transposed ? lane / 4 : in_row + i), &halves[i], 2);
    }
  }
  __syncwarp();
}
template <int COUNT>
XTUNE_DEVICE __attribute__((noinline)) void xtune_load_matrices(const void* row, unsigned (&values)[COUNT],
                                                                bool transposed) {
  const int lane = xtune_lane(), in_row = lane % 4 * 2;
  xtune_check_row(row, COUNT);
  for (int m = 0; m < COUNT; ++m) {
    unsigned short halves[2];
    for (int i = 0; i < 2; ++i) {
      const char* const from = xtune_row(row, m, transposed ? in_row + i : lane / 4);
      memcpy(&halves[i], from + 2 * (transposed ? lane / 4 : in_row + i), 2);
    }
    values[m] = halves[0] | static_cast<unsigned>(halves[1]) << 16;
  }
  __syncwarp();
}
XTUNE_DEVICE void store_matrices(void* row, unsigned a, unsigned b) { xtune_store_matrices(row, {a, b}, false); }
XTUNE_DEVICE void store_matrices(void* row, unsigned a, unsigned b, unsigned c, unsigned d) {
  xtune_store_matrices(row, {a, b, c, d}, false);
}
XTUNE_DEVICE void store_matrices_transposed(void* row, unsigned a, unsigned b) {
  xtune_store_matrices(row, {a, b}, true);
}
XTUNE_DEVICE void store_matrices_transposed(void* row, unsigned a, unsigned b, unsigned c, unsigned d) {
  xtune_store_matrices(row, {a, b, c, d}, true);
}
XTUNE_DEVICE void load_matrices(const void* row, unsigned (&to)[4]) { xtune_load_matrices(row, to, false); }
XTUNE_DEVICE void load_matrices_transposed(const void* row, unsigned (&to)[4]) { xtune_load_matrices(row, to, true); }

template <Type TYPE>
XTUNE_DEVICE float xtune_half(unsigned word, int which) {
  const unsigned short bits = static_cast<unsigned short>(word >> 16 * which);
  return TYPE == Type::f16 ? detail::f16_value(bits) : detail::bf16_value(bits);
}
// A lane reads the operands of other lanes from their variables: those of the four lanes that hold its row of x, and of
// those that hold its two columns of y. A kernel has hundreds of calls, which would take long to compile if they were
// inlined.
template <Type TYPE>
XTUNE_DEVICE __attribute__((noinline)) void warp_product(float* sums, const unsigned (&x)[4], unsigned y0,
                                                         unsigned y1) {
  static_assert(TYPE == Type::f16 || TYPE == Type::bf16, "only types of 16 bits");
  const unsigned words[6] = {x[0], x[1], x[2], x[3], y0, y1};
  const int lane = xtune_lane();
  const auto words_of = [&](int other) {
    return reinterpret_cast<const unsigned*>(
        __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(&words[0]), other));
  };
  const unsigned *of_row[4], *of_column[2][4];
  for (int i = 0; i < 4; ++i) {
    of_row[i] = words_of(lane / 4 * 4 + i);
    for (int column = 0; column < 2; ++column) of_column[column][i] = words_of((lane % 4 * 2 + column) * 4 + i);
  }
  for (int i = 0; i < 4; ++i) {
    const int row = i / 2, column = i % 2;
    for (int k = 0; k < 16; ++k) {
      const unsigned left = of_row[k % 8 / 2][k / 8 * 2 + row], right = of_column[column][k % 8 / 2][4 + k / 8];
      sums[i] += xtune_half<TYPE>(left, k % 2) * xtune_half<TYPE>(right, k % 2);
    }
  }
  __syncwarp();
}

/// A descriptor's fields, and the whole address.
struct Matrix {
  const char* tile;
  unsigned group_bytes, block_bytes, swizzle;
};
template <Swizzle SWIZZLE>
XTUNE_DEVICE Matrix matrix(const void* tile, unsigned group_bytes, unsigned block_bytes = 16) {
  return {static_cast<const char*>(tile), group_bytes, block_bytes,
          SWIZZLE == Swizzle::none ? 0u : 256u >> static_cast<int>(SWIZZLE)};
}
XTUNE_DEVICE Matrix advance(Matrix matrix, unsigned bytes) {
  matrix.tile += bytes;
  return matrix;
}

XTUNE_DEVICE void products_begin() { XTUNE_WAIT(xtune_hopper().products_begin()); }
XTUNE_DEVICE void products_commit() { XTUNE_WAIT(xtune_hopper().products_commit()); }
template <int PENDING>
XTUNE_DEVICE void products_wait() {
  XTUNE_WAIT(xtune_hopper().products_wait(PENDING));
}
template <int COUNT>
XTUNE_DEVICE void keep(float (&sums)[COUNT]) {
  __asm__ __volatile__("" ::"r"(sums) : "memory");
}
template <int STEPS>
XTUNE_DEVICE void keep(unsigned (&operands)[STEPS][4]) {
  __asm__ __volatile__("" ::"r"(operands) : "memory");
}
XTUNE_DEVICE void wait_after(float) {}

XTUNE_DEVICE XtuneMatrix xtune_matrix(const Matrix& matrix) {
  return {matrix.tile, matrix.group_bytes, matrix.block_bytes, matrix.swizzle};
}
XTUNE_DEVICE void xtune_product(const XtuneProduct& product) { XTUNE_WAIT(xtune_hopper().product(&product)); }
template <Type TYPE>
constexpr XtuneProduct::Type xtune_type = TYPE == Type::f16    ? XtuneProduct::f16
                                          : TYPE == Type::bf16 ? XtuneProduct::bf16
                                          : TYPE == Type::tf32 ? XtuneProduct::tf32
                                          : TYPE == Type::e4m3 ? XtuneProduct::e4m3
                                                               : XtuneProduct::e5m2;

template <Type TYPE, Major X = Major::k, Major Y = Major::k, int COUNT>
XTUNE_DEVICE void product(float (&sums)[COUNT], Matrix x, Matrix y, bool accumulate) {
  static_assert(TYPE != Type::s8, "products of integers have sums of int");
  static_assert((X == Major::k && Y == Major::k) || TYPE == Type::f16 || TYPE == Type::bf16,
                "only f16 and bf16 may be contiguous along M or N");
  xtune_product({xtune_type<TYPE>, X == Major::k, Y == Major::k, accumulate, sums, COUNT * 2, nullptr, xtune_matrix(x),
                 xtune_matrix(y)});
}
template <int COUNT>
XTUNE_DEVICE void product(int (&sums)[COUNT], Matrix x, Matrix y, bool accumulate) {
  xtune_product({XtuneProduct::s8, true, true, accumulate, sums, COUNT * 2, nullptr, xtune_matrix(x), xtune_matrix(y)});
}
template <Type TYPE, Major Y = Major::k, int COUNT>
XTUNE_DEVICE void product(float (&sums)[COUNT], const unsigned (&x)[4], Matrix y, bool accumulate) {
  static_assert(TYPE != Type::s8, "products of integers have sums of int");
  static_assert(Y == Major::k || TYPE == Type::f16 || TYPE == Type::bf16,
                "only f16 and bf16 may be contiguous along N");
  xtune_product({xtune_type<TYPE>, true, Y == Major::k, accumulate, sums, COUNT * 2, x, {}, xtune_matrix(y)});
}

}  // namespace xtune::hopper

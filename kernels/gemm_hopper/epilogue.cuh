// What follows the products in gemm_hopper: sums of several blocks added up, then written to C.
#pragma once

#include "schedule.cuh"

struct Output {
  Out* c;
  float* partial;      ///< partial sums, by slot and block of the cluster
  unsigned* counters;  ///< of contributors that have finished a tile; zero between launches
  int m, n;
  Extra extra;
};

#if OUTPUT_TYPE != 2
/// Two neighbours of a row of C.
__device__ inline unsigned pack(float low, float high) {
  constexpr auto TYPE = OUTPUT_TYPE == 0 ? xtune::hopper::Type::bf16 : xtune::hopper::Type::f16;
  return xtune::hopper::narrow<TYPE>(low, high);
}
#endif

/// Where 16 bytes of a part of C lie, exchanged as the tensor map of C does.
__device__ inline int part_offset(int row, int byte) { return swizzled<PART_ROW_BYTES>(row, byte); }

class Epilogue {
 public:
  __device__ Epilogue(const Storage& storage, const xtune::hopper::TensorMap& map, const Output& output, int consumer)
      : parts_(storage.parts + consumer * EPILOGUE_PARTS * PART_BYTES),
        map_(map),
        output_(output),
        barrier_(1 + consumer),
        thread_(threadIdx.x % 128) {}

  /// Writes the results of a unit; `row` is the first one of this consumer.
  template <int FIRST = 0, int COUNT = PARTS>
  __device__ void store(float (&sums)[TILES_P][BLOCK_Q / 2], const Unit& unit, int row) {
    const int p = first_row_p(unit, block_in_cluster_p()) + row, q = first_row_q(unit, block_in_cluster_q());
    const int end_m = GROUPED ? unit.end_m : output_.m;
    constexpr int parts = TILES_P * COUNT;
    if constexpr (HAS_EXTRA) finish_sums(sums, p, q);
#pragma unroll
    for (int first = 0; first < parts; first += PARTS_AT_ONCE) {
      // The places that come next were given to the group of stores before the last one.
      if (STORE == STORE_TILES && thread_ == 0) xtune::hopper::store_wait_read<EPILOGUE_PARTS / PARTS_AT_ONCE - 1>();
      xtune::hopper::sync_named(barrier_, 128);
      unsigned char* const to = parts_ + next_ * PART_BYTES;
      next_ = next_ + 2 * PARTS_AT_ONCE <= EPILOGUE_PARTS ? next_ + PARTS_AT_ONCE : 0;
#pragma unroll
      for (int i = first; i < first + PARTS_AT_ONCE && i < parts; ++i)
        fill(to + (i - first) * PART_BYTES, sums[i / COUNT], FIRST + i % COUNT);
      if (STORE == STORE_TILES) xtune::hopper::fence_async();
      xtune::hopper::sync_named(barrier_, 128);
#pragma unroll
      for (int i = first; i < first + PARTS_AT_ONCE && i < parts; ++i) {
        const unsigned char* const part = to + (i - first) * PART_BYTES;
        int x, y;
        place_part(FIRST + i % COUNT, x, y);
        if (SWAP)
          x += p + 64 * (i / COUNT), y += q;
        else
          x += q, y += p + 64 * (i / COUNT);
        // A tensor map would write the rows behind a group's last one, too.
        if (STORE != STORE_TILES || (GROUPED && y + PART_ROWS > end_m))
          copy(part, x, y, end_m);
        else if (thread_ == 0)
          xtune::hopper::store_tile(map_, part, x, y);
      }
      if (STORE == STORE_TILES && thread_ == 0) xtune::hopper::store_commit();
    }
  }
  /// Waits until shared memory is free.
  __device__ void finish() {
    if (STORE == STORE_TILES && thread_ == 0) xtune::hopper::store_wait_read<0>();
  }

 private:
  static constexpr int column_parts = SWAP ? 64 / PART_COLUMNS : 1;  // of 64 rows of P, if SWAP is 1

  // A part's first column and row within the 64 x BLOCK_Q results that it is taken from.
  __device__ static void place_part(int part, int& x, int& y) {
    x = SWAP ? part % column_parts * PART_COLUMNS : part_begin(part);
    y = SWAP ? part_begin(part / column_parts) : 0;
  }
  __device__ void fill(unsigned char* to, const float (&sums)[BLOCK_Q / 2], int part) const {
    if constexpr (SWAP)
      gather_transposed(to, sums, part_begin(part / column_parts) / 8, part % column_parts);
    else
      gather(to, sums, part_begin(part) / 8);
  }

  // To results; the first row along P is p, the first column along Q is q.
  __device__ void finish_sums(float (&sums)[TILES_P][BLOCK_Q / 2], int p, int q) const {
    const int row = p + thread_ / 32 * 16 + thread_ % 32 / 4, column = q + thread_ % 4 * 2;
#pragma unroll
    for (int i = 0; i < TILES_P; ++i)
#pragma unroll
      for (int j = 0; j < BLOCK_Q / 2; ++j) {
        const int a = row + 64 * i + j / 2 % 2 * 8, b = column + j / 4 * 8 + j % 2;
        const int m = SWAP ? b : a, n = SWAP ? a : b;
        if (m < output_.m && n < output_.n) sums[i][j] = finished(sums[i][j], output_.extra, m, n, output_.n);
      }
  }

  // The sums from group `first` of eight columns on, to rows along P.
  __device__ void gather(unsigned char* to, const float (&sums)[BLOCK_Q / 2], int first) const {
    const int lane = thread_ % 32, warp = thread_ / 32;
#if OUTPUT_TYPE == 2
#pragma unroll
    for (int i = 0; i < PART_COLUMNS / 8; ++i) {
      const float* s = &sums[4 * (first + i)];
      const int row = warp * 16 + lane / 4, byte = (8 * i + lane % 4 * 2) * 4;
      *reinterpret_cast<float2*>(to + part_offset(row, byte)) = make_float2(s[0], s[1]);
      *reinterpret_cast<float2*>(to + part_offset(row + 8, byte)) = make_float2(s[2], s[3]);
    }
#else
    static_assert(SWAP || PART_COLUMNS % 16 == 0, "BLOCK_N is a multiple of 16");
#pragma unroll
    for (int i = 0; i < PART_COLUMNS / 8; i += 2) {
      const float* s = &sums[4 * (first + i)];
      xtune::hopper::store_matrices(to + part_offset(warp * 16 + lane % 16, (i + lane / 16) * 16), pack(s[0], s[1]),
                                    pack(s[2], s[3]), pack(s[4], s[5]), pack(s[6], s[7]));
    }
#endif
  }

  // The same to rows along Q.
  __device__ void gather_transposed(unsigned char* to, const float (&sums)[BLOCK_Q / 2], int first, int half) const {
    const int lane = thread_ % 32, warp = thread_ / 32;
#if OUTPUT_TYPE == 2
    if (warp / 2 != half) return;
#pragma unroll
    for (int i = 0; i < PART_ROWS / 8; ++i) {
      const float* s = &sums[4 * (first + i)];
      const int row = 8 * i + lane % 4 * 2, byte = (warp % 2 * 16 + lane / 4) * 4;
      *reinterpret_cast<float*>(to + part_offset(row, byte)) = s[0];
      *reinterpret_cast<float*>(to + part_offset(row + 1, byte)) = s[1];
      *reinterpret_cast<float*>(to + part_offset(row, byte + 32)) = s[2];
      *reinterpret_cast<float*>(to + part_offset(row + 1, byte + 32)) = s[3];
    }
#else
    const int byte = (warp * 2 + lane / 8 % 2) * 16;
    if constexpr (PART_ROWS % 16 == 0) {
#pragma unroll
      for (int i = 0; i < PART_ROWS / 8; i += 2) {
        const float* s = &sums[4 * (first + i)];
        xtune::hopper::store_matrices_transposed(to + part_offset((i + lane / 16) * 8 + lane % 8, byte),
                                                 pack(s[0], s[1]), pack(s[2], s[3]), pack(s[4], s[5]),
                                                 pack(s[6], s[7]));
      }
    } else {
#pragma unroll
      for (int i = 0; i < PART_ROWS / 8; ++i) {
        const float* s = &sums[4 * (first + i)];
        xtune::hopper::store_matrices_transposed(to + part_offset(i * 8 + lane % 8, byte), pack(s[0], s[1]),
                                                 pack(s[2], s[3]));
      }
    }
#endif
  }

  // From shared memory to C, from column x and row y on.
  __device__ void copy(const unsigned char* from, int x, int y, int end_m) const {
    constexpr int bytes = STORE == STORE_ELEMENTS ? OUT_BYTES : 16;
    constexpr int in_row = PART_ROW_BYTES / bytes, lanes = in_row < 32 ? in_row : 32, rows = 128 / lanes;
    const size_t pitch = output_.n;
#pragma unroll 4
    for (int row = thread_ / lanes; row < PART_ROWS; row += rows) {
      if (y + row >= end_m) break;
      Out* to = output_.c + static_cast<size_t>(y + row) * pitch;
#pragma unroll
      for (int i = thread_ % lanes; i < in_row; i += lanes) {
        const int column = x + i * bytes / OUT_BYTES;
        if (column >= output_.n) continue;
        const unsigned char* value = from + part_offset(row, i * bytes);
        if constexpr (STORE != STORE_ELEMENTS)
          *reinterpret_cast<uint4*>(to + column) = *reinterpret_cast<const uint4*>(value);
        else
          to[column] = *reinterpret_cast<const Out*>(value);
      }
    }
  }

  unsigned char* parts_;
  const xtune::hopper::TensorMap& map_;
  const Output& output_;
  int barrier_, thread_, next_ = 0;
};

/// Writes this unit's sums to its slot. Returns true for the contributor that is the last to write for its tile, with
/// the sums of all contributors in `sums`, and false for the others. The order of the additions is that of K, so the
/// result does not depend on which contributor is last.
__device__ inline bool add_partial_sums(float (&sums)[TILES_P][BLOCK_Q / 2], const Storage& storage, const Unit& unit,
                                        const Output& output, int consumer) {
  constexpr int threads = PINGPONG ? 128 : 128 * CONSUMERS;
  const int barrier = 10 + (PINGPONG ? consumer : 0);
  const int thread = threadIdx.x % 128, block = block_in_cluster();
  const int first = (PINGPONG ? 0 : consumer) * TILES_P * (BLOCK_Q / 8);
  const auto slot = [&](int number) {
    return reinterpret_cast<float4*>(output.partial) +
           (static_cast<size_t>(number) * CLUSTER + block) * (BLOCK_P * BLOCK_Q / 4) + first * 128 + thread;
  };
  float4* mine = slot(unit.slot);
#pragma unroll
  for (int i = 0; i < TILES_P; ++i)
#pragma unroll
    for (int j = 0; j < BLOCK_Q / 8; ++j) {
      const float* s = &sums[i][4 * j];
      __stcg(mine + (i * (BLOCK_Q / 8) + j) * 128, make_float4(s[0], s[1], s[2], s[3]));
    }
  __threadfence();
  xtune::hopper::sync_named(barrier, threads);
  unsigned* counter = output.counters + unit.tile * CLUSTER + block;
  const bool leader = PINGPONG ? thread == 0 : threadIdx.x == 128;
  if (leader) {
    const unsigned before = atomicAdd(counter, 1u);
    const bool last = before + 1 == static_cast<unsigned>(unit.contributors);
    if (last) *counter = 0;  // for the next launch
    storage.flag[PINGPONG ? consumer : 0] = last;
    __threadfence();
  }
  xtune::hopper::sync_named(barrier, threads);
  const bool last = storage.flag[PINGPONG ? consumer : 0];
  if (!last) return false;
#pragma unroll
  for (int i = 0; i < TILES_P; ++i)
#pragma unroll
    for (int j = 0; j < BLOCK_Q / 2; ++j) sums[i][j] = 0;
  for (int contributor = 0; contributor < unit.contributors; ++contributor) {
    const float4* from = slot(slot_of(unit, contributor));
#pragma unroll
    for (int i = 0; i < TILES_P; ++i)
#pragma unroll
      for (int j = 0; j < BLOCK_Q / 8; ++j) {
        const float4 value = __ldcg(from + (i * (BLOCK_Q / 8) + j) * 128);
        float* s = &sums[i][4 * j];
        s[0] += value.x;
        s[1] += value.y;
        s[2] += value.z;
        s[3] += value.w;
      }
  }
  return true;
}

/// Adds up the sums of the blocks of a cluster that have parts of K, each block those of its share of the columns, in
/// the order of K. All threads of the cluster call cluster_sync twice meanwhile.
template <int PART>
__device__ inline void add_share(float (&sums)[TILES_P][BLOCK_Q / 2], const Storage& storage, int consumer) {
  constexpr int share = BLOCK_Q / 2 / CLUSTER_K;
  // What this block gets from each other one lies where its stages were.
  const auto at = [&](int from, int i, int j) {
    return reinterpret_cast<float*>(storage.memory) +
           (((from * CONSUMERS + consumer) * TILES_P + i) * share + j) * 128 + threadIdx.x % 128;
  };
#pragma unroll
  for (int to = 0; to < CLUSTER_K; ++to) {
    if (to == PART) continue;
    const unsigned base = xtune::hopper::remote_address(
        at(PART, 0, 0), to * CLUSTER_P * CLUSTER_Q + block_in_cluster() % (CLUSTER_P * CLUSTER_Q));
#pragma unroll
    for (int i = 0; i < TILES_P; ++i)
#pragma unroll
      for (int j = 0; j < share; ++j)
        xtune::hopper::store_remote(base + (i * share + j) * 512, sums[i][to * share + j]);
  }
  xtune::hopper::cluster_sync();
#pragma unroll
  for (int i = 0; i < TILES_P; ++i)
#pragma unroll
    for (int j = 0; j < share; ++j) {
      float sum = 0;
#pragma unroll
      for (int from = 0; from < CLUSTER_K; ++from) sum += from == PART ? sums[i][PART * share + j] : *at(from, i, j);
      sums[i][PART * share + j] = sum;
    }
}

/// Adds up and writes the results of a cluster whose blocks have parts of K.
template <int PART = 0>
__device__ inline void finish_share(float (&sums)[TILES_P][BLOCK_Q / 2], const Storage& storage, Epilogue& epilogue,
                                    const Unit& unit, int row, int consumer) {
  if constexpr (PART < CLUSTER_K) {
    if (block_in_cluster_k() == PART) {
      add_share<PART>(sums, storage, consumer);
      epilogue.template store<PART * PARTS / CLUSTER_K, PARTS / CLUSTER_K>(sums, unit, row);
    } else {
      finish_share<PART + 1>(sums, storage, epilogue, unit, row, consumer);
    }
  }
}

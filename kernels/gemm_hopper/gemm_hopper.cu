// C = A * B on Hopper's tensor cores: tiles by tensor maps into a ring of stages, products by warpgroups, tiles of C
// through shared memory. The README says what each parameter does.
#include "direct.cuh"
#include "epilogue.cuh"
#include "layout.cuh"
#include "schedule.cuh"

using namespace xtune::hopper;

constexpr bool FILLS_EARLY = !GROUPED && !DIRECT_P && !DIRECT_Q;

// Where the producer is: the next step to be loaded.
struct Progress {
  Unit unit;
  int step = unit.begin;
  Ring ring;
};

// Starts the copies of one step to a stage that nobody reads.
__device__ inline void load(const Storage& storage, const TensorMap& p_map, const TensorMap& q_map,
                            const Progress& next) {
  const int rank_p = block_in_cluster_p(), rank_q = block_in_cluster_q(), stage = next.ring.stage;
  const int p = first_row_p(next.unit, rank_p), q = first_row_q(next.unit, rank_q), k = next.step * BLOCK_K;
  const int group_p = SWAP ? next.unit.group : 0, group_q = SWAP ? 0 : next.unit.group;  // A is one matrix
  arrive_expect(storage.full[stage], STAGE_BYTES);
  load_operand<P_MAJOR, ROWS_P, CLUSTER_Q>(storage.p(stage), p_map, storage.full[stage], p, k, group_p, rank_q,
                                           blocks_with_same_p(), P_CACHE);
  load_operand<Q_MAJOR, ROWS_Q, CLUSTER_P>(storage.q(stage), q_map, storage.full[stage], q, k, group_q, rank_p,
                                           blocks_with_same_q(), Q_CACHE);
}

// The first stages, by the producer's thread. Here, where each block passes at its start, and not in `produce`, whose
// instructions are far behind those of the consumers, and come from memory at their first use.
__device__ inline void fill(const Storage& storage, const TensorMap& p_map, const TensorMap& q_map, Progress& next) {
  if (!next.unit.valid) return;
#pragma unroll 1
  for (; next.step < next.unit.end && next.step - next.unit.begin < STAGES; ++next.step, next.ring.advance())
    load(storage, p_map, q_map, next);
}

// The producer: fills the stages, for all units of this block in turn.
__device__ inline void produce(const Storage& storage, const TensorMap& p_map, const TensorMap& q_map,
                               const Schedule& schedule, Progress next) {
  for (; next.unit.valid; next.unit = schedule.next(next.unit), next.step = next.unit.begin)
    for (; next.step < next.unit.end; ++next.step, next.ring.advance()) {
      wait(storage.empty[next.ring.stage], next.ring.parity ^ 1);
      load(storage, p_map, q_map, next);
    }
  // A block ends when no other one will arrive at its barriers any more: when all have read what this one loaded.
  if constexpr (CLUSTER_P * CLUSTER_Q > 1)
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i, next.ring.advance()) wait(storage.empty[next.ring.stage], next.ring.parity ^ 1);
}

// Products of one step along K, all of them started.
__device__ inline void multiply(float (&sums)[TILES_P][BLOCK_Q / 2], const Storage& storage, int stage, int step,
                                int row) {
  products_begin();
#pragma unroll
  for (int k = 0; k < BLOCK_K; k += PRODUCT_K) {
    const Matrix y = operand<Q_MAJOR, ROWS_Q>(storage.q(stage), 0, k);
#pragma unroll
    for (int i = 0; i < TILES_P; ++i)
      product<INPUT, P_MAJOR, Q_MAJOR>(sums[i], operand<P_MAJOR, ROWS_P>(storage.p(stage), row + 64 * i, k), y,
                                       step > 0 || k > 0);
  }
  products_commit();
}

// A consumer: the products of its rows of every unit (or of every second unit) and what follows from them.
__device__ inline void consume(const Storage& storage, const TensorMap& c_map, const Schedule& schedule,
                               const Unit& first, const Output& output, int consumer) {
  const int row = PINGPONG ? 0 : consumer * (BLOCK_P / CONSUMERS);
  float sums[TILES_P][BLOCK_Q / 2];
  Ring ring;
  Epilogue epilogue(storage, c_map, output, consumer);
  int turn = 0;
  for (Unit unit = first, next = unit; unit.valid; unit = GROUPED ? next : schedule.next(unit), turn ^= 1) {
    const int steps = unit.end - unit.begin;
    if (PINGPONG && turn != consumer) {
      ring.skip(steps);
      if constexpr (GROUPED) next = schedule.next(unit);
      continue;
    }
    if (PINGPONG) sync_named(TURN_BARRIER + consumer, 256);
    int previous = 0;
    for (int step = 0; step < steps; ++step) {
      wait(storage.full[ring.stage], ring.parity);
      multiply(sums, storage, ring.stage, step, row);
      if (step > 0) {
        products_wait<1>();
        release(storage.empty[previous]);
      }
      previous = ring.stage;
      ring.advance();
    }
    if (PINGPONG) arrive_named(TURN_BARRIER + (consumer ^ 1), 256);
    // The search for the next tile's group takes its time while the last products run.
    if constexpr (GROUPED) next = schedule.next(unit);
    products_wait<0>();
#pragma unroll
    for (int i = 0; i < TILES_P; ++i) keep(sums[i]);
    release(storage.empty[previous]);
    if constexpr (CLUSTER_K > 1) {
      cluster_sync();
      finish_share(sums, storage, epilogue, unit, row, consumer);
    } else if (unit.contributors == 1 || add_partial_sums(sums, storage, unit, output, consumer))
      epilogue.store(sums, unit, row);
  }
  epilogue.finish();
  // The last turn that nobody takes.
  if (PINGPONG && turn == consumer) sync_named(TURN_BARRIER + consumer, 256);
}

#if GROUPED
// ends: behind the last row of each group (Groups::fill).
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm_grouped(const __grid_constant__ TensorMap read_a_map, const __grid_constant__ TensorMap read_b_map,
                 const __grid_constant__ TensorMap c_map, const int* ends, Out* c, float* partial, unsigned* counters,
                 int groups, int m, int n, int k, int group, int order) {
  const Extra extra{};
  constexpr In *a = nullptr, *b = nullptr;
#else
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
         const __grid_constant__ TensorMap c_map, Out* c, const Out* d, const float* bias, float* partial,
         unsigned* counters, int m, int n, int k, float alpha, float beta, int group, int order, const In* a,
         const In* b, const __grid_constant__ TensorMap packed_a_map, const __grid_constant__ TensorMap packed_b_map) {
  const Extra extra{d, bias, alpha, beta};
  const TensorMap& read_a_map = PACK_A ? packed_a_map : a_map;
  const TensorMap& read_b_map = PACK_B ? packed_b_map : b_map;
#endif
  extern __shared__ __align__(1024) unsigned char memory[];
  const Storage storage(memory);
  const TensorMap& p_map = SWAP ? read_b_map : read_a_map;
  const TensorMap& q_map = SWAP ? read_a_map : read_b_map;
#if GROUPED
  const Groups rows(storage.groups, groups);
  if (threadIdx.x / 32 == 2) rows.fill(ends, m);
#else
  const Schedule schedule(SWAP ? n : m, SWAP ? m : n, k, group, order);
#endif
  const Output output{c, partial, counters, m, n, extra};

  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      init(storage.full[i], ARRIVALS);
      init(storage.empty[i], RELEASES);
    }
    fence_init();
    fence_async();
  } else if (threadIdx.x == 32) {
    if (!DIRECT_P) prefetch(p_map);
    if (!DIRECT_Q) prefetch(q_map);
    if (STORE == STORE_TILES) prefetch(c_map);
  }
#if !GROUPED
  const Unit first = schedule.first();
  Progress next = {first};
  if (CLUSTER == 1 && FILLS_EARLY && threadIdx.x == 0) fill(storage, p_map, q_map, next);
#endif
  if (CLUSTER == 1 || GROUPED) __syncthreads();
  if (CLUSTER > 1) {
    cluster_arrive_relaxed();
    cluster_wait();
  }

#if GROUPED
  const int rows_a = rows.covered();
  const Schedule schedule(SWAP ? n : rows_a, SWAP ? rows_a : n, k, group, order, rows);
  const Unit first = schedule.first();
  const Progress next = {first};
#else
  if (CLUSTER > 1 && FILLS_EARLY && threadIdx.x == 0) fill(storage, p_map, q_map, next);
#endif
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    if (CONSUMERS > 1) fewer_registers<PRODUCER_REGISTERS>();
    if constexpr (DIRECT_P || DIRECT_Q) {
      const Rows rows_a = {a, TRANSPOSED_A ? k : m, TRANSPOSED_A ? m : k};
      const Rows rows_b = {b, TRANSPOSED_B ? n : k, TRANSPOSED_B ? k : n};
      produce_directly(storage, p_map, q_map, SWAP ? rows_b : rows_a, SWAP ? rows_a : rows_b, schedule);
    } else if (threadIdx.x == 0) {
      produce(storage, p_map, q_map, schedule, next);
    }
    // The barrier of a cluster takes whole warps.
    __syncwarp();
    if constexpr (CLUSTER_K > 1) {
      cluster_sync();
      cluster_sync();
    }
  } else {
    if (CONSUMERS > 1) more_registers<CONSUMER_REGISTERS>();
    // The first consumer has the first turn.
    if (PINGPONG && warpgroup == 2) arrive_named(TURN_BARRIER, 256);
    consume(storage, c_map, schedule, first, output, warpgroup - 1);
  }
}

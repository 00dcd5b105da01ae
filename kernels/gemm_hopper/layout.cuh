// Shared memory of gemm_hopper: its stages, their barriers, and where the operands lie in them.
#pragma once

#include <xtune/hopper.cuh>

#include "pack.cuh"
#include "problem.cuh"

// P is the operand whose rows a warpgroup divides into 64s, Q the other one: A and B, or B and A if SWAP is 1.
constexpr int BLOCK_P = SWAP ? BLOCK_N : BLOCK_M, BLOCK_Q = SWAP ? BLOCK_M : BLOCK_N;
constexpr int CLUSTER_P = SWAP ? CLUSTER_N : CLUSTER_M, CLUSTER_Q = SWAP ? CLUSTER_M : CLUSTER_N;
// Products take 8-bit floats only contiguous along K; the others are packed so.
constexpr xtune::hopper::Major A_MAJOR =
    TRANSPOSED_A && INPUT_TYPE != 2 ? xtune::hopper::Major::mn : xtune::hopper::Major::k;
constexpr xtune::hopper::Major B_MAJOR =
    TRANSPOSED_B || INPUT_TYPE == 2 ? xtune::hopper::Major::k : xtune::hopper::Major::mn;
constexpr xtune::hopper::Major P_MAJOR = SWAP ? B_MAJOR : A_MAJOR, Q_MAJOR = SWAP ? A_MAJOR : B_MAJOR;

constexpr xtune::hopper::Type INPUT = INPUT_TYPE == 0   ? xtune::hopper::Type::bf16
                                      : INPUT_TYPE == 1 ? xtune::hopper::Type::f16
                                                        : xtune::hopper::Type::e4m3;
// 1: an operand is read once, so L2 need not keep it.
__host__ __device__ constexpr xtune::hopper::Cache cache_of(int once) {
  return once ? xtune::hopper::Cache::first : xtune::hopper::Cache::normal;
}
constexpr xtune::hopper::Cache P_CACHE = cache_of(SWAP ? ONCE_B : ONCE_A), Q_CACHE = cache_of(SWAP ? ONCE_A : ONCE_B);
constexpr int INPUT_BYTES = INPUT_TYPE == 2 ? 1 : 2;
constexpr int PRODUCT_K = 32 / INPUT_BYTES;
// Elements in a row of 128 bytes, which is as wide as a swizzled tile can be.
constexpr int ROW = 128 / INPUT_BYTES;

constexpr int THREADS = 128 * (1 + CONSUMERS);
// Tiles of 64 rows of P that one consumer computes.
constexpr int TILES_P = BLOCK_P / (64 * (PINGPONG ? 1 : CONSUMERS));
constexpr int TURN_BARRIER = 8;

static_assert(BLOCK_P % (64 * (PINGPONG ? 1 : CONSUMERS)) == 0 && BLOCK_Q % 8 == 0 && BLOCK_Q <= 256, "tile");
static_assert(BLOCK_K % ROW == 0, "BLOCK_K");
static_assert(!PINGPONG || CONSUMERS == 2, "two consumers take turns");

__host__ __device__ constexpr int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// An operand's tile lies in columns of rows of 128 bytes: along K, or along M or N if it is contiguous along these.
template <xtune::hopper::Major MAJOR, int ROWS>
__host__ __device__ constexpr int tile_columns() {
  return (MAJOR == xtune::hopper::Major::k ? BLOCK_K : round_up(ROWS, ROW)) / ROW;
}
template <xtune::hopper::Major MAJOR, int ROWS>
__host__ __device__ constexpr int tile_rows() {
  return MAJOR == xtune::hopper::Major::k ? ROWS : BLOCK_K;
}
template <xtune::hopper::Major MAJOR, int ROWS>
__host__ __device__ constexpr int operand_bytes() {
  return tile_columns<MAJOR, ROWS>() * tile_rows<MAJOR, ROWS>() * 128;
}
/// Where this byte of a row lies in a tile of rows of BYTES (32, 64 or 128), whose parts of 16 bytes are exchanged.
template <int BYTES>
__host__ __device__ constexpr int swizzled(int row, int byte) {
  const int offset = row * BYTES + byte;
  return offset ^ (offset >> 7 & (BYTES / 16 - 1)) << 4;
}
// Rows of an operand in a stage: blocks that share it load as many groups of 8 each.
constexpr int ROWS_P = P_MAJOR == xtune::hopper::Major::k ? round_up(BLOCK_P, 8 * CLUSTER_Q) : BLOCK_P;
constexpr int ROWS_Q = Q_MAJOR == xtune::hopper::Major::k ? round_up(BLOCK_Q, 8 * CLUSTER_P) : BLOCK_Q;
constexpr int P_BYTES = operand_bytes<P_MAJOR, ROWS_P>(), Q_BYTES = round_up(operand_bytes<Q_MAJOR, ROWS_Q>(), 1024);
// A stage holds one step of both operands.
constexpr int STAGE_BYTES = P_BYTES + operand_bytes<Q_MAJOR, ROWS_Q>();  // that are loaded
constexpr int STAGE_PITCH = P_BYTES + Q_BYTES;

// Results on their way to memory: parts of PART_ROWS x PART_COLUMNS of C, EPILOGUE_PARTS of them for each consumer. Of
// the 64 x BLOCK_Q results of a tile, a block of a cluster that divides K writes SHARE_Q columns.
constexpr int OUT_BYTES = OUTPUT_TYPE == 2 ? 4 : 2, PART_WIDTH = 128 / OUT_BYTES, SHARE_Q = BLOCK_Q / CLUSTER_K;
constexpr int PART_ROWS = SWAP ? round_up(SHARE_Q / ((SHARE_Q + 63) / 64), 8) : 64;
constexpr int PART_COLUMNS = PART_WIDTH / (SWAP || SHARE_Q >= PART_WIDTH ? 1 : SHARE_Q >= PART_WIDTH / 2 ? 2 : 4);
constexpr int PART_ROW_BYTES = PART_COLUMNS * OUT_BYTES;
constexpr int PART_BYTES = round_up(PART_ROWS * PART_ROW_BYTES, 1024);
// Columns of the results that a part has, parts along the columns of a share, and parts of a tile.
constexpr int PART_Q = SWAP ? PART_ROWS : PART_COLUMNS, SHARE_PARTS = (SHARE_Q + PART_Q - 1) / PART_Q;
constexpr int PARTS = CLUSTER_K * SHARE_PARTS * (SWAP ? 64 / PART_COLUMNS : 1);
/// A part's first column. The last part of a share ends with it, and may begin within the one before.
__host__ __device__ constexpr int part_begin(int part) {
  const int begin = part % SHARE_PARTS * PART_Q;
  return part / SHARE_PARTS * SHARE_Q + (begin < SHARE_Q - PART_Q ? begin : SHARE_Q - PART_Q);
}
// Parts that are written together: all, or half of the buffers, so that others can be filled meanwhile.
constexpr int PARTS_AT_ONCE = EPILOGUE_PARTS * CLUSTER_K >= TILES_P * PARTS ? EPILOGUE_PARTS : (EPILOGUE_PARTS + 1) / 2;

// How results are written: element by element (any row length), by 16 bytes, or as tiles by a tensor map.
constexpr int STORE_ELEMENTS = 0, STORE_VECTORS = 1, STORE_TILES = 2;

static_assert(!GROUPED || (!TRANSPOSED_A && INPUT_TYPE != 2 && CLUSTER_K == 1 && !DIRECT_A && !DIRECT_B),
              "groups are rows, which arrive by a tensor map; a cluster may have no tile");
static_assert(CLUSTER_K == 1 || BLOCK_P * BLOCK_Q * 4 <= STAGES * STAGE_PITCH,
              "the sums of other blocks take the place of the stages");

// 1: the producer's threads read this operand themselves (direct.cuh). Other operands arrive by tensor maps.
constexpr int DIRECT_P = SWAP ? DIRECT_B : DIRECT_A, DIRECT_Q = SWAP ? DIRECT_A : DIRECT_B;
static_assert(!(DIRECT_P || DIRECT_Q) || CLUSTER_P * CLUSTER_Q == 1, "direct tiles are a block's own");
static_assert(!(DIRECT_P || DIRECT_Q) || CONSUMERS <= 2, "three consumers leave no registers");
// Words of 4 bytes of a step that a thread of the producer reads, and steps that it reads ahead.
constexpr int DIRECT_WORDS = (DIRECT_P ? P_BYTES / 512 : 0) + (DIRECT_Q ? operand_bytes<Q_MAJOR, BLOCK_Q>() / 512 : 0);
constexpr int STEPS_AHEAD = CONSUMERS > 1 || DIRECT_WORDS > 64 ? 1 : DIRECT_WORDS > 32 ? 2 : DIRECT_WORDS > 16 ? 3 : 4;

// Registers of a thread: at the start those that the launch bounds leave, and later no more in sum, or consumers wait
// forever for theirs. The producer needs few, if it reads nothing itself.
constexpr int LAUNCH_REGISTERS = 65536 / THREADS / 8 * 8;
__host__ __device__ constexpr int producer_registers() {
  if (DIRECT_WORDS == 0) return CONSUMERS == 2 ? 40 : 32;
  const int needed = round_up(DIRECT_WORDS * 17 / 16 + 64, 8);
  return needed < LAUNCH_REGISTERS ? needed : LAUNCH_REGISTERS;
}
constexpr int PRODUCER_REGISTERS = producer_registers();
constexpr int CONSUMER_REGISTERS = CONSUMERS > 1
                                       ? (LAUNCH_REGISTERS*(1 + CONSUMERS) - PRODUCER_REGISTERS) / CONSUMERS / 8 * 8
                                       : LAUNCH_REGISTERS;
static_assert(CONSUMERS == 1 ||
                  PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= LAUNCH_REGISTERS * (1 + CONSUMERS),
              "registers that a block does not have");

/// Arrivals that fill a stage: of the thread that starts copies, and of each warp that writes.
constexpr int ARRIVALS = (DIRECT_P && DIRECT_Q ? 0 : 1) + (DIRECT_P || DIRECT_Q ? 4 : 0);
/// Arrivals that free a stage: of each warp that reads it here, and in the blocks that get the same data.
constexpr int RELEASES = 4 * (PINGPONG ? 1 : CONSUMERS) * (CLUSTER_P + CLUSTER_Q - 1);

struct Storage {
  unsigned char* memory;
  unsigned char* parts;
  xtune::hopper::Barrier *full, *empty;
  int* flag;
  int* groups;  ///< their tiles and rows (schedule.cuh)

  __device__ explicit Storage(unsigned char* memory)
      : memory(memory),
        parts(memory + STAGES * STAGE_PITCH),
        full(reinterpret_cast<xtune::hopper::Barrier*>(parts + CONSUMERS * EPILOGUE_PARTS * PART_BYTES)),
        empty(full + STAGES),
        flag(reinterpret_cast<int*>(empty + STAGES)),
        groups(flag + 2) {}
  __device__ unsigned char* p(int stage) const { return memory + stage * STAGE_PITCH; }
  __device__ unsigned char* q(int stage) const { return memory + stage * STAGE_PITCH + P_BYTES; }
};

/// The stage that comes next, and the parity of its phase.
struct Ring {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ void skip(int steps) {
    const int next = stage + steps;
    parity ^= next / STAGES & 1;
    stage = next % STAGES;
  }
};

// Blocks of a cluster are numbered along P first, then Q, then K.
constexpr int CLUSTER = CLUSTER_P * CLUSTER_Q * CLUSTER_K;
__device__ inline int block_in_cluster() { return CLUSTER > 1 ? static_cast<int>(xtune::hopper::cluster_rank()) : 0; }
__device__ inline int block_in_cluster_p() { return block_in_cluster() % CLUSTER_P; }
__device__ inline int block_in_cluster_q() { return block_in_cluster() / CLUSTER_P % CLUSTER_Q; }
__device__ inline int block_in_cluster_k() { return block_in_cluster() / (CLUSTER_P * CLUSTER_Q); }
__device__ inline int rank_of(int p, int q) { return (block_in_cluster_k() * CLUSTER_Q + q) * CLUSTER_P + p; }
/// The blocks that get the same tile of P, as bits.
__device__ inline unsigned short blocks_with_same_p() {
  unsigned short blocks = 0;
  for (int q = 0; q < CLUSTER_Q; ++q) blocks |= 1u << rank_of(block_in_cluster_p(), q);
  return blocks;
}
__device__ inline unsigned short blocks_with_same_q() {
  return static_cast<unsigned short>(((1u << CLUSTER_P) - 1) << rank_of(0, block_in_cluster_q()));
}

/// Starts loading this block's share, one of SHARES, of an operand's tile, for all blocks that need it. The maps of
/// grouped operands have three dimensions.
template <xtune::hopper::Major MAJOR, int ROWS, int SHARES>
__device__ inline void load_operand(unsigned char* to, const xtune::hopper::TensorMap& map,
                                    xtune::hopper::Barrier& barrier, int row, int k, [[maybe_unused]] int group,
                                    int share, unsigned short blocks, xtune::hopper::Cache cache) {
  constexpr bool by_k = MAJOR == xtune::hopper::Major::k;
  constexpr int columns = tile_columns<MAJOR, ROWS>(), rows = tile_rows<MAJOR, ROWS>();
  static_assert(SHARES == 1 || rows % (8 * SHARES) == 0, "shares are whole groups of 8 rows");
  const int first = share * (rows / SHARES);
#pragma unroll
  for (int i = 0; i < columns; ++i) {
    unsigned char* part = to + (i * rows + first) * 128;
    const int x = (by_k ? k : row) + i * ROW, y = (by_k ? row : k) + first;
    if constexpr (GROUPED && SHARES > 1)
      load_tile_multicast(part, map, barrier, x, y, group, blocks, cache);
    else if constexpr (GROUPED)
      load_tile(part, map, barrier, x, y, group, cache);
    else if constexpr (SHARES > 1)
      load_tile_multicast(part, map, barrier, x, y, blocks, cache);
    else
      load_tile(part, map, barrier, x, y, cache);
  }
}

/// An operand of a product: from this row (a multiple of ROW if contiguous along it) and this k on.
template <xtune::hopper::Major MAJOR, int ROWS>
__device__ inline xtune::hopper::Matrix operand(const unsigned char* tile, int row, int k) {
  using xtune::hopper::Swizzle;
  if constexpr (MAJOR == xtune::hopper::Major::k)
    return advance(xtune::hopper::matrix<Swizzle::bytes128>(tile + ((k / ROW) * ROWS + row) * 128, 1024),
                   k % ROW * INPUT_BYTES);
  else
    return xtune::hopper::matrix<Swizzle::bytes128>(tile + ((row / ROW) * BLOCK_K + k) * 128, 1024, BLOCK_K * 128);
}

/// Tells all blocks that load into this one's stage that this warp has read it.
__device__ inline void release(xtune::hopper::Barrier& barrier) {
  const int lane = threadIdx.x % 32;
  if constexpr (CLUSTER_P * CLUSTER_Q == 1) {
    if (lane == 0) arrive(barrier);
  } else if (lane < CLUSTER_P + CLUSTER_Q - 1) {
    const int p = block_in_cluster_p(), q = block_in_cluster_q();
    // The blocks of this one's column, then the others of its row.
    const int other = lane - CLUSTER_P;
    const int rank = lane < CLUSTER_P ? rank_of(lane, q) : rank_of(p, other < q ? other : other + 1);
    arrive_remote(barrier, rank);
  }
}

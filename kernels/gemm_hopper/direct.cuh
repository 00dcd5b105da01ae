// The way into a stage without tensor maps: the producer's threads read rows that begin anywhere in memory, and write
// them to shared memory as the copy engine would.
#pragma once

#include "schedule.cuh"

/// A matrix as it lies in memory. Its first element begins at a multiple of 16 bytes.
struct Rows {
  const In* elements;
  int rows, columns;
};

/// Elements of a word of 4 bytes, which a lane reads at a time, and of the last one those that no lane has read: where
/// rows do not begin at a multiple of 4 bytes, a lane's word ends in the next lane's.
#if INPUT_TYPE == 2
using Bits = unsigned char;
#else
using Bits = unsigned short;
#endif
constexpr int WORD = 4 / INPUT_BYTES, TAIL = WORD - 1;

/// A warp's quarter of an operand's tile of one step, on its way from memory through registers to a stage: every fourth
/// row of 128 bytes. All of these are shifted by the same number of bytes. Rows are read and written in groups, so that
/// a group's registers are filled again while the others still wait for theirs.
template <xtune::hopper::Major MAJOR, int ROWS, xtune::hopper::Cache CACHE>
class DirectTile {
  static constexpr bool by_k = MAJOR == xtune::hopper::Major::k;
  static constexpr int columns = tile_columns<MAJOR, ROWS>(), rows = tile_rows<MAJOR, ROWS>();
  __host__ __device__ static constexpr int group_rows() {
    int size = rows / 4 < 16 ? rows / 4 : 16;
    while (rows / 4 % size != 0) --size;
    return size;
  }
  static constexpr int size = group_rows(), groups_in_column = rows / 4 / size;

 public:
  static constexpr int GROUPS = columns * groups_in_column;

  /// Starts reading a group of the tile that begins at this row of the operand and this k.
  template <int GROUP>
  __device__ void load(const Rows& from, int row, int k) {
    const int lane = threadIdx.x % 32, x = column(GROUP, row, k), y = first_row(GROUP, row, k);
    const int skip = skip_of(from), at = x + lane * WORD - skip;
    // Of the matrix's last row, a word is read only if it ends within.
    const int end = at + WORD <= from.columns ? from.rows : at < from.columns ? from.rows - 1 : 0;
    const In* word = from.elements + (static_cast<long long>(y) * from.columns + at);
#pragma unroll
    for (int i = 0; i < size; ++i, word += 4 * static_cast<long long>(from.columns))
      words_[GROUP][i] = xtune::hopper::load_present<4, CACHE>(word, y + 4 * i < end);
    if (skip == 0) return;
    const int y_tail = y + 4 * lane, x_tail = x + ROW - TAIL;
    const In* const tail = from.elements + (static_cast<long long>(y_tail) * from.columns + x_tail);
#pragma unroll
    for (int i = 0; i < TAIL; ++i)
      tails_[GROUP][i] = xtune::hopper::load_present<INPUT_BYTES, CACHE>(
          tail + i, lane < size && y_tail < from.rows && x_tail + i < from.columns);
  }

  /// Writes what `load` read to the tile in shared memory; what lies outside of the matrix is zero.
  template <int GROUP>
  __device__ void store(unsigned char* to, const Rows& from, int row, int k) const {
    const int lane = threadIdx.x % 32, x = column(GROUP, row, k), y = first_row(GROUP, row, k);
    const int skip = skip_of(from), rest = from.columns - x - lane * WORD;
    const unsigned inside = rest >= WORD ? ~0u : rest <= 0 ? 0u : (1u << 8 * INPUT_BYTES * rest) - 1;
    unsigned char* const part = to + GROUP / groups_in_column * rows * 128;
    constexpr int first = GROUP % groups_in_column * size;
    const int warp = static_cast<int>(threadIdx.x / 32), r = 4 * first + warp;
    // The exchange of 16 bytes repeats itself after eight rows, two of this warp's.
    unsigned char* const pair[2] = {part + swizzled<128>(warp, lane * 4), part + swizzled<128>(warp + 4, lane * 4)};
    const auto word = [&](int i) -> unsigned& {
      return *reinterpret_cast<unsigned*>(pair[(first + i) % 2] + (first + i) / 2 * 1024);
    };
    if (skip == 0) {
#pragma unroll
      for (int i = 0; i < size; ++i) word(i) = words_[GROUP][i] & inside;
    } else {
#pragma unroll
      for (int i = 0; i < size; ++i) {
        const unsigned next = __shfl_down_sync(0xffffffffu, words_[GROUP][i], 1);
        const unsigned long long both = static_cast<unsigned long long>(next) << 32 | words_[GROUP][i];
        word(i) = static_cast<unsigned>(both >> 8 * INPUT_BYTES * skip) & inside;
      }
      __syncwarp();
      if (lane < size) {
#pragma unroll
        for (int i = 0; i < TAIL; ++i)
          *reinterpret_cast<Bits*>(part + swizzled<128>(r + 4 * lane, 128 - (TAIL - i) * INPUT_BYTES)) =
              static_cast<Bits>(tails_[GROUP][i]);
      }
    }
    store_last(part, from, x, y, r);
  }

 private:
  /// Elements between a multiple of 4 bytes and the beginning of this warp's rows.
  __device__ static int skip_of(const Rows& from) {
    return static_cast<int>(static_cast<unsigned>(threadIdx.x / 32) * static_cast<unsigned>(from.columns) % WORD);
  }
  __device__ static int column(int group, int row, int k) { return (by_k ? k : row) + group / groups_in_column * ROW; }
  __device__ static int first_row(int group, int row, int k) {
    return (by_k ? row : k) + group % groups_in_column * size * 4 + static_cast<int>(threadIdx.x / 32);
  }
  // The last elements of the matrix, if they are in this group: their word may end behind the matrix.
  __device__ static void store_last(unsigned char* part, const Rows& from, int x, int y, int r) {
    const int below = from.rows - 1 - y, at = from.columns - 1 - static_cast<int>(threadIdx.x % 32) - x;
    if (below < 0 || below >= 4 * size || below % 4 != 0) return;
    __syncwarp();
    if (threadIdx.x % 32 < TAIL && at >= 0 && at < ROW)
      *reinterpret_cast<In*>(part + swizzled<128>(r + below, at * INPUT_BYTES)) =
          from.elements[static_cast<long long>(from.rows - 1) * from.columns + x + at];
  }

  unsigned words_[GROUPS][size];
  unsigned tails_[GROUPS][TAIL];
};

/// An operand that arrives by a tensor map: nothing passes through registers.
struct MappedTile {
  static constexpr int GROUPS = 0;
};
template <bool DIRECT, xtune::hopper::Major MAJOR, int ROWS, xtune::hopper::Cache CACHE>
struct ChosenTile {
  using Type = MappedTile;
};
template <xtune::hopper::Major MAJOR, int ROWS, xtune::hopper::Cache CACHE>
struct ChosenTile<true, MAJOR, ROWS, CACHE> {
  using Type = DirectTile<MAJOR, ROWS, CACHE>;
};

/// Where the tiles of a step begin: the rows of the operands, and the k, which is below zero after the last step.
struct Origin {
  int p, q, k;
};

/// The steps of all units of this block in turn.
class Steps {
 public:
  __device__ explicit Steps(const Schedule& schedule) : unit_(schedule.first()), step_(unit_.begin) {}
  __device__ Origin next(const Schedule& schedule) {
    if (!unit_.valid) return {0, 0, -1};
    const Origin origin = {unit_.tile_p * BLOCK_P, unit_.tile_q * BLOCK_Q, step_ * BLOCK_K};
    if (++step_ == unit_.end) {
      unit_ = schedule.next(unit_);
      step_ = unit_.begin;
    }
    return origin;
  }

 private:
  Unit unit_;
  int step_;
};

/// What the producer's threads read of a step.
class DirectStep {
  using TileP = typename ChosenTile<DIRECT_P != 0, P_MAJOR, BLOCK_P, P_CACHE>::Type;
  using TileQ = typename ChosenTile<DIRECT_Q != 0, Q_MAJOR, BLOCK_Q, Q_CACHE>::Type;

 public:
  Origin origin = {0, 0, -1};

  __device__ void load(const Rows& p, const Rows& q, const Origin& from) {
    origin = from;
    if (from.k < 0) return;
    load_groups(p_, p, from.p, from.k);
    load_groups(q_, q, from.q, from.k);
  }
  /// Writes this step to the stage, and reads the one that begins at `next`, if there is one.
  __device__ void exchange(const Storage& storage, int stage, const Rows& p, const Rows& q, const Origin& next) {
    exchange_groups(p_, storage.p(stage), p, origin.p, origin.k, next.p, next.k);
    exchange_groups(q_, storage.q(stage), q, origin.q, origin.k, next.q, next.k);
    origin = next;
  }

 private:
  template <int GROUP = 0, class Tile>
  __device__ static void load_groups(Tile& tile, const Rows& from, int row, int k) {
    if constexpr (GROUP < Tile::GROUPS) {
      tile.template load<GROUP>(from, row, k);
      load_groups<GROUP + 1>(tile, from, row, k);
    }
  }
  template <int GROUP = 0, class Tile>
  __device__ static void exchange_groups(Tile& tile, unsigned char* to, const Rows& from, int row, int k, int next_row,
                                         int next_k) {
    if constexpr (GROUP < Tile::GROUPS) {
      tile.template store<GROUP>(to, from, row, k);
      if (next_k >= 0) tile.template load<GROUP>(from, next_row, next_k);
      exchange_groups<GROUP + 1>(tile, to, from, row, k, next_row, next_k);
    }
  }

  TileP p_;
  TileQ q_;
};

/// The producer, if at least one operand does not arrive by a tensor map. Called by all its threads.
__device__ inline void produce_directly(const Storage& storage, const xtune::hopper::TensorMap& p_map,
                                        const xtune::hopper::TensorMap& q_map, const Rows& p, const Rows& q,
                                        const Schedule& schedule) {
  using namespace xtune::hopper;
  constexpr int mapped_bytes = (DIRECT_P ? 0 : P_BYTES) + (DIRECT_Q ? 0 : STAGE_BYTES - P_BYTES);
  DirectStep ahead[STEPS_AHEAD];
  Steps steps(schedule);
#pragma unroll
  for (int i = 0; i < STEPS_AHEAD; ++i) ahead[i].load(p, q, steps.next(schedule));
  Ring ring;
  while (ahead[0].origin.k >= 0) {
#pragma unroll
    for (int i = 0; i < STEPS_AHEAD; ++i) {
      const Origin& at = ahead[i].origin;
      if (i > 0 && at.k < 0) break;
      Barrier& full = storage.full[ring.stage];
      wait(storage.empty[ring.stage], ring.parity ^ 1);
      if (mapped_bytes > 0 && threadIdx.x == 0) {
        arrive_expect(full, mapped_bytes);
        if constexpr (!DIRECT_P)
          load_operand<P_MAJOR, BLOCK_P, 1>(storage.p(ring.stage), p_map, full, at.p, at.k, 0, 0, 0, P_CACHE);
        if constexpr (!DIRECT_Q)
          load_operand<Q_MAJOR, BLOCK_Q, 1>(storage.q(ring.stage), q_map, full, at.q, at.k, 0, 0, 0, Q_CACHE);
      }
      ahead[i].exchange(storage, ring.stage, p, q, steps.next(schedule));
      fence_async();
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(full);
      ring.advance();
    }
  }
}

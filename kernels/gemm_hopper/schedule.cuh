// Which tiles of C, and which part of K of each, a block of gemm_hopper computes, and in which order.
#pragma once

#include "layout.cuh"

/// Steps of BLOCK_K [begin, end) of one tile of a cluster.
struct Unit {
  bool valid;
  int number;          ///< of this unit among the block's
  int tile;            ///< number of the tile
  int tile_p, tile_q;  ///< in tiles of a cluster
  int begin, end;      ///< steps along K
  int contributors;    ///< units that the tile is divided into
  int contributor;     ///< this unit's number among them, along K
  int slot;            ///< of its partial sums
  int first_slot;      ///< of the first contributor's
  int group = 0;       ///< whose rows of A and C these are, from begin_m to end_m - 1
  int begin_m = 0, end_m = 0;
};

constexpr int TILE_M = BLOCK_M * CLUSTER_M;  // rows of A of a cluster's tile

/// Groups of A's rows, one behind the other. Each has as many tiles as cover its rows. In shared memory.
class Groups {
 public:
  Groups() = default;
  __device__ Groups(int* memory, int count) : count_(count), tiles_(memory), rows_(memory + count + 1) {}

  /// By one warp, before a barrier of the block. ends: behind the last row of each group, in ascending order. Other
  /// ends are taken for the greatest one before them, and at most m.
  __device__ void fill(const int* ends, int m) const {
    const int lane = threadIdx.x % 32;
    int rows = 0, tiles = 0;  // of the groups before these 32
    if (lane == 0) rows_[0] = tiles_[0] = 0;
    for (int group = lane; group - lane < count_; group += 32) {
      int end = group < count_ ? ends[group] : 0;
      end = end < rows ? rows : end < m ? end : m;
      for (int i = 1; i < 32; i *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, end, i);
        if (before > end) end = before;
      }
      const int begin = __shfl_up_sync(0xffffffffu, end, 1);
      int sum = (end - (lane == 0 ? rows : begin) + TILE_M - 1) / TILE_M;
      for (int i = 1; i < 32; i *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, sum, i);
        if (lane >= i) sum += before;
      }
      if (group < count_) rows_[group + 1] = end, tiles_[group + 1] = tiles + sum;
      rows = __shfl_sync(0xffffffffu, end, 31);
      tiles += __shfl_sync(0xffffffffu, sum, 31);
    }
  }
  /// Rows that the tiles of all groups cover.
  __device__ int covered() const { return tiles_[count_] * TILE_M; }
  /// The group that has this tile, the number of its first one, and how many it has.
  __device__ void find(Unit& unit, int tile, int& first, int& tiles) const {
    for (int size = count_; size > 1;) {
      const int half = size / 2;
      if (tiles_[unit.group + half] <= tile) unit.group += half;
      size -= half;
    }
    first = tiles_[unit.group], tiles = tiles_[unit.group + 1] - first;
    unit.begin_m = rows_[unit.group], unit.end_m = rows_[unit.group + 1];
  }

 private:
  int count_ = 0;
  int *tiles_ = nullptr, *rows_ = nullptr;  ///< of the groups before each one; rows: that the groups have
};

/// Without SPLIT (1), every unit is a whole tile. With SPLIT > 1 it is one of SPLIT equal parts. With SPLIT = 0
/// (stream-K; Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on
/// the GPU", 2023) the tiles that do not fill all blocks are divided evenly among them, and the others are whole. The
/// tiles of groups are numbered through: `rows` of A are then those that their tiles cover.
class Schedule {
 public:
  __device__ Schedule(int rows_p, int rows_q, int k, int group, int order, const Groups& groups = Groups())
      : tiles_p_(ceil_div(rows_p, BLOCK_P * CLUSTER_P)),
        tiles_q_(ceil_div(rows_q, BLOCK_Q * CLUSTER_Q)),
        steps_(ceil_div(k, BLOCK_K)),
        group_(group),
        order_(order),
        cluster_(blockIdx.x / CLUSTER),
        clusters_(gridDim.x / CLUSTER),
        groups_(groups) {
    if constexpr (SPLIT == 0) {
      const int tiles = tiles_p_ * tiles_q_;
      // The last wave and the one before it, so that a tile has few contributors.
      const int rest = tiles % clusters_;
      streamed_ = rest == 0 ? 0 : tiles < clusters_ ? tiles : rest + clusters_;
      if (streamed_ > tiles) streamed_ = tiles;
      workers_ = streamed_ * steps_ < clusters_ ? streamed_ * steps_ : clusters_;
    }
  }

  __device__ Unit first() const { return unit(0, SPLIT == 0 ? stream_begin(cluster_) : 0); }
  __device__ Unit next(const Unit& last) const {
    return unit(last.number + 1, SPLIT == 0 && last.tile < streamed_ ? last.tile * steps_ + last.end : -1);
  }

 private:
  __device__ static int ceil_div(int a, int b) { return (a + b - 1) / b; }
  // Steps of the streamed tiles, counted through all of them, are divided evenly among the first clusters: all, unless
  // there are fewer steps.
  __device__ int stream_begin(int cluster) const {
    if (cluster >= workers_) return streamed_ * steps_;
    return static_cast<int>(static_cast<long long>(streamed_) * steps_ * cluster / workers_);
  }
  /// The cluster that has this step.
  __device__ int cluster_of(int step) const {
    int cluster = static_cast<int>(static_cast<long long>(step) * workers_ / (streamed_ * steps_));
    while (stream_begin(cluster + 1) <= step) ++cluster;
    return cluster;
  }

  __device__ void place(Unit& unit) const {
    // Tiles are visited in bands of `group` along one dimension, so that neighbours share what L2 holds.
    int tile = unit.tile, tiles_p = tiles_p_, tiles_q = tiles_q_;
    if constexpr (GROUPED) {
      const int across = SWAP ? tiles_p : tiles_q;
      int before;
      groups_.find(unit, tile / across, before, SWAP ? tiles_q : tiles_p);
      tile -= before * across;
    }
    const int slow = order_ ? tiles_q : tiles_p, fast = order_ ? tiles_p : tiles_q;
    const int band = tile / (group_ * fast), first = band * group_;
    const int size = slow - first < group_ ? slow - first : group_;
    const int within = tile - band * group_ * fast;
    const int a = first + within % size, b = within / size;
    unit.tile_p = order_ ? b : a;
    unit.tile_q = order_ ? a : b;
  }

  __device__ Unit unit(int number, int stream_position) const {
    Unit unit;
    unit.number = number;
    unit.begin = 0;
    unit.end = steps_;
    unit.contributors = 1;
    unit.contributor = unit.slot = unit.first_slot = 0;
    const int tiles = tiles_p_ * tiles_q_;
    if constexpr (SPLIT == 0) {
      const int end = stream_begin(cluster_ + 1);
      if (stream_position >= 0 && stream_position < end) {
        unit.valid = true;
        unit.tile = stream_position / steps_;
        const int tile_begin = unit.tile * steps_;
        unit.begin = stream_position - tile_begin;
        unit.end = end - tile_begin < steps_ ? end - tile_begin : steps_;
        const int from = cluster_of(tile_begin), to = cluster_of(tile_begin + steps_ - 1);
        unit.contributors = to - from + 1;
        unit.contributor = cluster_ - from;
        // A cluster has up to two partial tiles: one whose end it computes, one whose begin or middle.
        unit.slot = 2 * cluster_ + (unit.end < steps_);
        unit.first_slot = 2 * from;
      } else {
        // Whole tiles follow; their numbers count on from those of the streamed ones.
        const int streamed_units = stream_units();
        unit.tile = streamed_ + cluster_ + (number - streamed_units) * clusters_;
        unit.valid = unit.tile < tiles;
      }
    } else {
      constexpr int split = SPLIT == 0 ? 1 : SPLIT;
      const int u = cluster_ + number * clusters_;
      unit.tile = u / split;
      unit.valid = unit.tile < tiles;
      if constexpr (split > 1) {
        unit.contributors = split;
        unit.contributor = u % split;
        unit.begin = static_cast<int>(static_cast<long long>(steps_) * unit.contributor / split);
        unit.end = static_cast<int>(static_cast<long long>(steps_) * (unit.contributor + 1) / split);
        unit.slot = u;
        unit.first_slot = u - unit.contributor;
      }
    }
    if constexpr (CLUSTER_K > 1) {
      const int part = block_in_cluster_k();
      unit.begin = steps_ * part / CLUSTER_K;
      unit.end = steps_ * (part + 1) / CLUSTER_K;
    }
    if (unit.valid) place(unit);
    return unit;
  }
  __device__ int stream_units() const {
    const int begin = stream_begin(cluster_), end = stream_begin(cluster_ + 1);
    return begin == end ? 0 : (end - 1) / steps_ - begin / steps_ + 1;
  }

  int tiles_p_, tiles_q_, steps_, group_, order_, cluster_, clusters_, streamed_ = 0, workers_ = 1;
  Groups groups_;
};

/// The first row of P, or of Q, of a unit that the block of this rank along P, or Q, has.
__device__ inline int first_row_p(const Unit& unit, int rank) {
  return (unit.tile_p * CLUSTER_P + rank) * BLOCK_P + (GROUPED && !SWAP ? unit.begin_m : 0);
}
__device__ inline int first_row_q(const Unit& unit, int rank) {
  return (unit.tile_q * CLUSTER_Q + rank) * BLOCK_Q + (GROUPED && SWAP ? unit.begin_m : 0);
}

/// The slot of a contributor's partial sums.
__device__ inline int slot_of(const Unit& unit, int contributor) {
  if constexpr (SPLIT == 0) {
    // All but the last stop before the tile's end.
    return unit.first_slot + 2 * contributor + (contributor + 1 < unit.contributors);
  }
  return unit.first_slot + contributor;
}

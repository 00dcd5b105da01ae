// The tiles of the output: which rows of which head a block of threads computes, and in which order.
#pragma once

#include "layout.cuh"

struct Problem {
  const int* starts;  // first row of each sequence, and the end of the last one; only if VARIABLE
  int* drawn;         // tiles that blocks have drawn: 0 before and after a launch; only if PERSISTENT is 2
  int batch, seq;     // seq: rows of each sequence, or of the longest one if VARIABLE
  int heads, kv_heads;
  int section;  // heads whose tiles alternate, so that their keys and values stay in L2
};

class Tiles {
 public:
  __device__ explicit Tiles(const Problem& problem) : problem_(problem), next_(blockIdx.x) {}

  /// The next tile of this block of threads; false after the last one.
  __device__ bool next(Tile& tile) {
    while (next_ < count()) {
      const int index = next_;
      next_ = draw();
      if (read(index, tile)) return true;
    }
    // Each block draws until none is left, so one of them draws the last number.
    if (PERSISTENT == 2 && next_ == static_cast<int>(gridDim.x) + count() - 1) *problem_.drawn = 0;
    return false;
  }

 private:
  __device__ int row_tiles() const { return (problem_.seq + block_m - 1) / block_m; }
  __device__ int count() const { return row_tiles() * problem_.heads * problem_.batch; }

  __device__ int draw() const { return gridDim.x + (PERSISTENT == 2 ? atomicAdd(problem_.drawn, 1) : next_); }

  /// False if the tile lies behind the end of its sequence.
  __device__ bool read(int index, Tile& tile) const {
    const int section = index / (problem_.section * row_tiles());
    const int first = section * problem_.section;
    const int rest = index - first * row_tiles();
    const int heads = min(problem_.section, problem_.heads * problem_.batch - first);
    const int row_tile = rest / heads;
    const int sequence = (first + rest % heads) / problem_.heads;
    tile.head = (first + rest % heads) % problem_.heads;
    tile.kv_head = tile.head / (problem_.heads / problem_.kv_heads);
    tile.row = (CAUSAL ? row_tiles() - 1 - row_tile : row_tile) * block_m;  // causal: the longest ones first
#if VARIABLE
    tile.begin = problem_.starts[sequence];
    tile.length = problem_.starts[sequence + 1] - tile.begin;
#else
    tile.begin = sequence * problem_.seq;
    tile.length = problem_.seq;
#endif
    const int columns = CAUSAL ? min(tile.length, tile.row + block_m) : tile.length;
    tile.blocks = (columns + BLOCK_N - 1) / BLOCK_N;
    return tile.row < tile.length;
  }

  Problem problem_;
  int next_;
};

/// The place for the next tile. A tile without blocks is the end.
__device__ inline Tile& claim(Queue& queue, const Position<2>& at) {
  hopper::wait(queue.empty[at.stage], at.parity ^ 1);
  return queue.tiles[at.stage];
}
__device__ inline const Tile& send(Queue& queue, Position<2>& at) {
  const int stage = at.stage;
  hopper::arrive(queue.full[stage]);
  at.advance();
  return queue.tiles[stage];
}
/// The next tile, or nullptr after the last one. Its readers arrive at its `empty`: each warp once, or a single thread.
__device__ inline const Tile* receive(Queue& queue, const Position<2>& at) {
  hopper::wait(queue.full[at.stage], at.parity);
  return queue.tiles[at.stage].blocks == 0 ? nullptr : &queue.tiles[at.stage];
}

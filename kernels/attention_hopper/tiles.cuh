// The tiles of the output: which rows of which head a block computes, and in which order.
#pragma once

struct Problem {
  const int* starts;  // of each sequence, and behind the last one: BATCH + 1 rows; only if VARIABLE
  int batch, seq;     // seq: rows of each sequence, or of the longest one if VARIABLE
  int heads, kv_heads;
  int section;  // heads whose tiles alternate, so that their keys and values stay in L2
};

struct Tile {
  int begin, length;  // first row of the sequence in all tensors; its rows
  int row;            // first row of the tile in the sequence
  int head, kv_head;
  int blocks;  // of keys and values that it needs
};

/// The tiles of one block of threads. All its warps walk through the same ones.
class Tiles {
 public:
  __device__ explicit Tiles(const Problem& problem) : problem_(problem) {
    row_tiles_ = (problem.seq + BLOCK_M - 1) / BLOCK_M;
    count_ = row_tiles_ * problem.heads * problem.batch;
  }

  /// False after the last tile.
  __device__ bool next(Tile& tile) {
    for (;; ++wave_) {
      const int across = SNAKE && wave_ % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
      const int index = wave_ * gridDim.x + across;
      if (wave_ * static_cast<int>(gridDim.x) >= count_) return false;
      if (index < count_ && read(index, tile)) break;
    }
    ++wave_;
    return true;
  }

 private:
  /// False if the tile lies behind the end of its sequence.
  __device__ bool read(int index, Tile& tile) const {
    const int section = index / (problem_.section * row_tiles_);
    const int first = section * problem_.section;
    const int rest = index - first * row_tiles_;
    const int heads = min(problem_.section, problem_.heads * problem_.batch - first);
    const int row_tile = rest / heads;
    const int sequence = (first + rest % heads) / problem_.heads;
    tile.head = (first + rest % heads) % problem_.heads;
    tile.kv_head = tile.head / (problem_.heads / problem_.kv_heads);
    tile.row = (CAUSAL ? row_tiles_ - 1 - row_tile : row_tile) * BLOCK_M;  // causal: the longest ones first
#if VARIABLE
    tile.begin = problem_.starts[sequence];
    tile.length = problem_.starts[sequence + 1] - tile.begin;
#else
    tile.begin = sequence * problem_.seq;
    tile.length = problem_.seq;
#endif
    const int columns = CAUSAL ? min(tile.length, tile.row + BLOCK_M) : tile.length;
    tile.blocks = (columns + BLOCK_N - 1) / BLOCK_N;
    return tile.row < tile.length;
  }

  Problem problem_;
  int row_tiles_, count_, wave_ = 0;
};

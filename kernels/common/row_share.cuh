// What a thread has of a row that several threads, and perhaps several blocks, work on.
//
// Macros: THREADS threads work on a row, or on each of its PARTS parts; a block has ROWS rows; a thread has ITEMS packs
// of VECTOR elements on their way at once.
#pragma once

#include "group.cuh"
#include "words.cuh"

static_assert((THREADS & (THREADS - 1)) == 0 && THREADS * ROWS % lane_count == 0,
              "THREADS is a power of two, and a block is made of whole groups of lanes");

using ElementPack = Words<VECTOR>;

/// ITEMS packs of a thread, of which only the first `count` lie in the row.
struct Chunk {
  ElementPack pack[ITEMS];
  int count;
};

/// A thread's share of a row, or of a part of it: packs in chunks, which the parts take in turns, and single elements
/// at the row's ends, which belong to part 0.
class RowShare {
 public:
  static constexpr int edge_count = edges_per_thread<VECTOR>(THREADS);

  __device__ RowShare(const Element* row, int columns, int part)
      : from_(row),
        row_(stretch_of<VECTOR>(row, columns)),
        part_(part),
        lane_(static_cast<int>(threadIdx.x) % THREADS) {}

  __device__ int first_chunk() const { return part_; }
  /// Less than first_chunk() if there is none.
  __device__ int last_chunk() const {
    const int chunks = ceil_div(row_.packs, chunk_packs);
    return part_ + (chunks - 1 - part_ + PARTS) / PARTS * PARTS - PARTS;
  }
  /// Column of the first element of a pack.
  __device__ int column(int chunk, int item) const {
    return row_.pack_index(chunk * chunk_packs + item * THREADS + lane_);
  }

  /// offset: elements to another row, whose packs are aligned as this row's.
  __device__ void load(Chunk& chunk, int number, long long offset = 0) const {
    const int first = number * chunk_packs + lane_;
    chunk.count = first < row_.packs ? (row_.packs - first - 1) / THREADS + 1 : 0;
    const Element* const start = from_ + offset + row_.pack_index(first);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (i < chunk.count) chunk.pack[i] = ElementPack::load(start + i * THREADS * VECTOR);
    }
  }

  /// Whether this thread has an e-th single element.
  __device__ bool has_edge(int e) const { return VECTOR > 1 && part_ == 0 && lane_ + e * THREADS < row_.edges(); }
  __device__ int edge_column(int e) const { return row_.edge_index(lane_ + e * THREADS); }
  __device__ float load_edge(int e, long long offset = 0) const { return to_float(from_[offset + edge_column(e)]); }

 private:
  static constexpr int chunk_packs = THREADS * ITEMS;
  const Element* from_;
  Stretch<VECTOR> row_;
  int part_, lane_;
};

// Reductions over the middle axis of an array [outer, n, inner], whose elements a Task may change on their way: over
// rows, if inner is 1, and over columns otherwise. The macros are those of row_share.cuh; for columns, THREADS
// neighbours read along the inner axis, ROWS such groups take rows in turns, and PARTS blocks share the rows.
//
// GROUP_ROWS: rows that a group of threads reads side by side, so that it computes their weights once; 1 by default.
//
// A Task has a Summary (group.cuh) of one word, and
//   fetch(weights, column), weigh(weight, weights, column): read and compute the weights of the VECTOR elements of a
//   row from this column on; weight_at(index): the weight of one element of a row, or of a whole row of columns;
//   term(x, weight): what is merged for an element;
//   result(value): what is written for what was merged.
#pragma once

#include "row_share.cuh"

#ifndef GROUP_ROWS
#define GROUP_ROWS 1
#endif

// Of a thread for one row: sums that do not wait for each other.
constexpr int accumulators = min_of(VECTOR, 2);

__device__ inline bool starts_group() { return threadIdx.x % THREADS == 0; }

/// Merges the terms of GROUP_ROWS chunks of rows whose weights are the same.
template <typename Task>
__device__ inline void merge_chunks(const Task& task, typename Task::Summary (&mine)[GROUP_ROWS][accumulators],
                                    const RowShare& share, const Chunk (&chunk)[GROUP_ROWS],
                                    const typename Task::Weights (&weights)[ITEMS], int number) {
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    if (i >= chunk[0].count) continue;
    float weight[VECTOR];
    task.weigh(weight, weights[i], share.column(number, i));
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
#pragma unroll
      for (int r = 0; r < GROUP_ROWS; ++r) {
        mine[r][v % accumulators].merge({{task.term(chunk[r].pack[i].at(v), weight[v])}});
      }
    }
  }
}

/// This thread's part of the results of GROUP_ROWS rows of n elements, `step` elements apart. The first `count` of them
/// exist, and their packs are aligned alike.
template <typename Task>
__device__ inline void reduce_share_of_rows(const Task& task, typename Task::Summary (&result)[GROUP_ROWS],
                                            const RowShare& share, long long step, int count) {
  using Summary = typename Task::Summary;
  Summary mine[GROUP_ROWS][accumulators];
#pragma unroll
  for (int r = 0; r < GROUP_ROWS; ++r) {
#pragma unroll
    for (int a = 0; a < accumulators; ++a) mine[r][a] = Summary::nothing();
  }
#pragma unroll 1
  for (int number = share.first_chunk(); number <= share.last_chunk(); number += PARTS) {
    Chunk chunk[GROUP_ROWS];
    typename Task::Weights weights[ITEMS];
#pragma unroll
    for (int r = 0; r < GROUP_ROWS; ++r) share.load(chunk[r], number, (r < count ? r : 0) * step);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (i < chunk[0].count) task.fetch(weights[i], share.column(number, i));
    }
    merge_chunks(task, mine, share, chunk, weights, number);
  }
#pragma unroll
  for (int e = 0; e < RowShare::edge_count; ++e) {
    if (!share.has_edge(e)) continue;
    const float weight = task.weight_at(share.edge_column(e));
#pragma unroll
    for (int r = 0; r < GROUP_ROWS; ++r) {
      mine[r][0].merge({{task.term(share.load_edge(e, (r < count ? r : 0) * step), weight)}});
    }
  }
#pragma unroll
  for (int r = 0; r < GROUP_ROWS; ++r) {
#pragma unroll
    for (int a = 1; a < accumulators; ++a) mine[r][0].merge(mine[r][a]);
    result[r] = mine[r][0];
  }
}

/// y: one result for each of the `rows` rows of n elements. There are ceil(rows / (VECTOR * GROUP_ROWS)) * VECTOR
/// groups of threads, or `rows` if GROUP_ROWS is 1. Grid: ceil(groups / ROWS) * PARTS. Block: THREADS * ROWS. With
/// PARTS > 1, ROWS is 1, partials has room for GROUP_ROWS * PARTS floats for each group, and counters are zeros, one
/// for each group.
template <typename Task>
__device__ inline void reduce_rows(const Task& task, const Element* x, Element* y, float* partials,
                                   unsigned int* counters, int rows, int n) {
  using Summary = typename Task::Summary;
  // Rows of one group are a pack's length apart: then their packs are aligned alike.
  constexpr int distance = GROUP_ROWS > 1 ? VECTOR : 1;
  const int block = static_cast<int>(blockIdx.x), part = block % PARTS;
  const int group = block / PARTS * ROWS + static_cast<int>(threadIdx.x) / THREADS;
  const int row = group / distance * distance * GROUP_ROWS + group % distance;
  const int count = row < rows ? min_of(ceil_div(rows - row, distance), GROUP_ROWS) : 0;
  const RowShare share(x + static_cast<long long>(row) * n, count > 0 ? n : 0, part);
  Summary mine[GROUP_ROWS];
  reduce_share_of_rows(task, mine, share, static_cast<long long>(distance) * n, count);
#pragma unroll
  for (int r = 0; r < GROUP_ROWS; ++r) {
    if (r > 0) __syncthreads();
    mine[r] = reduce_group<THREADS, ROWS>(mine[r]);
  }
  if (count == 0) return;
  if constexpr (PARTS > 1) {
    float* const of_group = partials + static_cast<long long>(group) * GROUP_ROWS * PARTS;
    if (threadIdx.x == 0) {
#pragma unroll
      for (int r = 0; r < GROUP_ROWS; ++r) of_group[r * PARTS + part] = mine[r].word[0];
    }
    if (!arrives_last(counters + group, PARTS)) return;
    const volatile float* const of_parts = of_group;
#pragma unroll
    for (int r = 0; r < GROUP_ROWS; ++r) {
      mine[r] = Summary::nothing();
      for (int p = static_cast<int>(threadIdx.x); p < PARTS; p += THREADS) {
        mine[r].merge({{of_parts[r * PARTS + p]}});
      }
      if (r > 0) __syncthreads();
      mine[r] = reduce_group<THREADS, 1>(mine[r]);
    }
  }
  if (!starts_group()) return;
#pragma unroll
  for (int r = 0; r < GROUP_ROWS; ++r) {
    if (r < count) set(y[row + r * distance], task.result(mine[r].word[0]));
  }
}

/// The summaries of a thread's VECTOR columns, merged over the ROWS groups of the block, in the first group.
template <typename Summary>
__device__ inline void reduce_columns_of_block(Summary (&mine)[VECTOR]) {
  if constexpr (ROWS > 1) {
    __shared__ float of_group[ROWS][THREADS][VECTOR];
    const int lane = static_cast<int>(threadIdx.x) % THREADS, group = static_cast<int>(threadIdx.x) / THREADS;
    __syncthreads();  // of_group is free again
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) of_group[group][lane][v] = mine[v].word[0];
    __syncthreads();
    if (group != 0) return;
#pragma unroll 4
    for (int g = 1; g < ROWS; ++g) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) mine[v].merge({{of_group[g][lane][v]}});
    }
  }
}

/// Merges up to ITEMS rows of VECTOR columns: every ROWS-th of the `rows` rows that are left, of `inner` elements each,
/// from x and weight index `first` on. The first `count` columns exist.
template <bool WHOLE, typename Task>
__device__ inline void merge_rows(const Task& task, typename Task::Summary (&mine)[VECTOR], const Element* x, int first,
                                  int rows, int inner, int count) {
  ElementPack pack[ITEMS];
  float weight[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    if (!WHOLE && i * ROWS >= rows) continue;
    const Element* const from = x + static_cast<long long>(i * ROWS) * inner;
    if constexpr (WHOLE) {
      pack[i] = ElementPack::load(from);
    } else {
      Pack<Element, VECTOR> elements = {};
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        if (v < count) elements.x[v] = from[v];
      }
      pack[i] = ElementPack::of(elements);
    }
    weight[i] = task.weight_at(first + i * ROWS);
  }
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    if (!WHOLE && i * ROWS >= rows) continue;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) mine[v].merge({{task.term(pack[i].at(v), weight[i])}});
  }
}

/// This thread's share of VECTOR columns of an array of n rows of `inner` elements, which starts at the first of them.
/// count: how many of the columns exist.
template <typename Task>
__device__ inline void reduce_share_of_columns(const Task& task, typename Task::Summary (&mine)[VECTOR],
                                               const Element* x, int n, int inner, int count, int part) {
  const int group = static_cast<int>(threadIdx.x) / THREADS;
  const bool packed = count == VECTOR && rows_take_packs<VECTOR>(x, inner);
#pragma unroll 1
  for (int row = part * ROWS * ITEMS + group; row < n; row += PARTS * ROWS * ITEMS) {
    const Element* const from = x + static_cast<long long>(row) * inner;
    if (packed && row + (ITEMS - 1) * ROWS < n) {
      merge_rows<true>(task, mine, from, row, n - row, inner, count);
    } else {
      merge_rows<false>(task, mine, from, row, n - row, inner, count);
    }
  }
}

/// y: [outer, inner] results of x, [outer, n, inner]. Grid: outer * ceil(inner / (THREADS * VECTOR)) * PARTS. Block:
/// THREADS * ROWS. With PARTS > 1, partials has room for outer * PARTS * inner floats, and counters are zeros, one for
/// each PARTS blocks.
template <typename Task>
__device__ inline void reduce_columns(const Task& task, const Element* x, Element* y, float* partials,
                                      unsigned int* counters, int n, int inner) {
  using Summary = typename Task::Summary;
  const int tiles = ceil_div(inner, THREADS * VECTOR);
  const int block = static_cast<int>(blockIdx.x), part = block % PARTS, tile = block / PARTS;
  const int lane = static_cast<int>(threadIdx.x) % THREADS, group = static_cast<int>(threadIdx.x) / THREADS;
  const int column = (tile % tiles * THREADS + lane) * VECTOR, count = min_of(inner - column, VECTOR);
  const long long outer = tile / tiles;
  Summary mine[VECTOR];
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) mine[v] = Summary::nothing();
  if (count > 0) reduce_share_of_columns(task, mine, x + outer * n * inner + column, n, inner, count, part);
  reduce_columns_of_block(mine);
  if constexpr (PARTS > 1) {
    volatile float* const of_parts = partials + outer * PARTS * inner + column;
    if (group == 0) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        if (v < count) of_parts[static_cast<long long>(part) * inner + v] = mine[v].word[0];
      }
    }
    if (!arrives_last(counters + tile, PARTS)) return;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) mine[v] = Summary::nothing();
    for (int p = group; p < PARTS; p += ROWS) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        if (v < count) mine[v].merge({{of_parts[static_cast<long long>(p) * inner + v]}});
      }
    }
    reduce_columns_of_block(mine);
  }
  if (group != 0) return;
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) {
    if (v < count) set(y[outer * inner + column + v], task.result(mine[v].word[0]));
  }
}

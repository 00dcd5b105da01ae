// Reductions over the middle axis of an array [outer, n, inner], whose elements a Task may change on their way: over
// rows, if inner is 1, and over columns otherwise. The macros are those of row_share.cuh; for columns, THREADS
// neighbours read along the inner axis, ROWS such groups take rows in turns, and PARTS blocks share the rows.
//
// A Task has a Summary of one word, whose default is no element's, and
//   term(x, index): the VECTOR elements x, the first of which is the index-th of its row, become what is merged;
//   term_of_one(x, index): the same for one element;
//   weight_of_row(row), term_of_row(x, weight): the same for the elements of one of n rows of columns;
//   result(value): what is written.
#pragma once

#include "row_share.cuh"

__device__ inline bool starts_group() { return threadIdx.x % THREADS == 0; }

/// y: one result for each of the `rows` rows of n elements. Grid: ceil(rows / ROWS) * PARTS. Block: THREADS * ROWS.
/// With PARTS > 1, ROWS is 1, partials has room for rows * PARTS floats, and counters are as many zeros as rows.
template <typename Task>
__device__ inline void reduce_rows(const Task& task, const Element* x, Element* y, float* partials,
                                   unsigned int* counters, int rows, int n) {
  using Summary = typename Task::Summary;
  const int block = static_cast<int>(blockIdx.x), part = block % PARTS;
  const int row = block / PARTS * ROWS + static_cast<int>(threadIdx.x) / THREADS;
  const RowShare share(x + static_cast<long long>(row) * n, row < rows ? n : 0, part);
  Summary mine[VECTOR];
#pragma unroll
  for (int v = 0; v < VECTOR; ++v) mine[v] = Summary::nothing();
#pragma unroll 1
  for (int number = share.first_chunk(); number <= share.last_chunk(); number += PARTS) {
    Chunk chunk;
    share.load_chunk(chunk, number, 0.0f);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (i >= chunk.packs) continue;
      task.term(chunk.x[i], share.column(number, i));
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) mine[v].merge({{chunk.x[i][v]}});
    }
  }
#pragma unroll
  for (int e = 0; e < RowShare::edge_count; ++e) {
    if (share.has_edge(e)) mine[0].merge({{task.term_of_one(share.load_edge(e), share.edge_column(e))}});
  }
#pragma unroll
  for (int v = 1; v < VECTOR; ++v) mine[0].merge(mine[v]);
  Summary whole = reduce_group<THREADS, ROWS>(mine[0]);
  if (row >= rows) return;
  if constexpr (PARTS > 1) {
    if (threadIdx.x == 0) partials[static_cast<long long>(row) * PARTS + part] = whole.word[0];
    if (!arrives_last(counters + row, PARTS)) return;
    const volatile float* const of_parts = partials + static_cast<long long>(row) * PARTS;
    whole = Summary::nothing();
    for (int p = static_cast<int>(threadIdx.x); p < PARTS; p += THREADS) whole.merge({{of_parts[p]}});
    whole = reduce_group<THREADS, 1>(whole);
  }
  if (starts_group()) set(y[row], task.result(whole.word[0]));
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

/// This thread's share of VECTOR columns of an array of n rows of `inner` elements, which starts at the first of them.
/// count: how many of the columns exist.
template <typename Task>
__device__ inline void reduce_share_of_columns(const Task& task, typename Task::Summary (&mine)[VECTOR],
                                               const Element* x, int n, int inner, int count, int part) {
  const int group = static_cast<int>(threadIdx.x) / THREADS;
  const bool packed = count == VECTOR && rows_take_packs<VECTOR>(x, inner);
#pragma unroll 1
  for (int base = part * ROWS * ITEMS; base < n; base += PARTS * ROWS * ITEMS) {
    ElementPack pack[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const int row = base + i * ROWS + group;
      if (row >= n) continue;
      const Element* const from = x + static_cast<long long>(row) * inner;
      if (packed) {
        pack[i] = load_pack<VECTOR>(from);
      } else {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
          if (v < count) pack[i].x[v] = from[v];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const int row = base + i * ROWS + group;
      if (row >= n) continue;
      const float weight = task.weight_of_row(row);
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) mine[v].merge({{task.term_of_row(to_float(pack[i].x[v]), weight)}});
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

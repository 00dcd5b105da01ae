// The part that kernels share which need two passes over each row of a matrix: a summary of the row, and a result for
// each element that depends on the summary. A row is read once where the threads that share it can hold it in
// registers. The macros are those of row_share.cuh.
#pragma once

#include "row_share.cuh"

static_assert(PARTS == 1 || ROWS == 1, "blocks that share a row work on no other");

/// Writes a chunk to a row of y. change(x, column): puts the results for the VECTOR elements x in their place.
template <typename Change>
__device__ inline void store_chunk(const RowShare& share, Element* to, Chunk& chunk, int number, const Change& change) {
  const bool aligned = reinterpret_cast<size_t>(to + share.column(number, 0)) % alignof(ElementPack) == 0;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    if (i >= chunk.packs) continue;
    const int column = share.column(number, i);
    change(chunk.x[i], column);
    ElementPack pack;
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) set(pack.x[v], chunk.x[i][v]);
    if (!aligned) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) to[column + v] = pack.x[v];
    } else {
      store_pack<VECTOR>(to + column, pack);
    }
  }
}

/// This thread's summary of its share. The last chunk stays in `chunk`.
template <typename Task>
__device__ inline typename Task::Summary summarize(const RowShare& share, Chunk& chunk,
                                                   const float (&edge)[RowShare::edge_count]) {
  typename Task::Summary summary = Task::Summary::nothing();
#pragma unroll
  for (int e = 0; e < RowShare::edge_count; ++e) {
    if (share.has_edge(e)) Task::add_one(summary, edge[e]);
  }
#pragma unroll 1
  for (int number = share.first_chunk(); number <= share.last_chunk(); number += PARTS) {
    share.load_chunk(chunk, number, Task::absent());
    Task::add(summary, chunk);
  }
  return summary;
}

/// y = the task's results for x, row by row. Grid: ceil(rows / ROWS) * PARTS. Block: ROWS * THREADS. With PARTS > 1,
/// slots are word_count zeros for each part of each row, and ticket is a zero. arguments: what the constructor of Task
/// takes after the summaries.
template <typename Task, typename... Arguments>
__device__ inline void process_rows(const Element* x, Element* y, unsigned long long* slots, unsigned int* ticket,
                                    int rows, int columns, Arguments... arguments) {
  using Summary = typename Task::Summary;
  const int block = PARTS > 1 ? order_of_start(ticket) : static_cast<int>(blockIdx.x);
  const int row = block / PARTS * ROWS + static_cast<int>(threadIdx.x) / THREADS, part = block % PARTS;
  const long long start = static_cast<long long>(row) * columns;
  const int length = row < rows ? columns : 0;
  const RowShare share(x + start, length, part);
  Element* const to = y + start;
  float edge[RowShare::edge_count];
#pragma unroll
  for (int e = 0; e < RowShare::edge_count; ++e) edge[e] = share.has_edge(e) ? share.load_edge(e) : Task::absent();
  Chunk chunk;
  const Summary own = summarize<Task>(share, chunk, edge);
  Summary whole = reduce_group<THREADS, ROWS>(own);
  if constexpr (PARTS > 1) {
#if defined(XTUNE_HOST)
    // On a CPU, a block that another waits for may have to wait for that one's core: each works out all parts.
    for (int other = 0; other < PARTS; ++other) {
      if (other == part) continue;
      const RowShare rest(x + start, length, other);
      Chunk passing;
      float rest_edge[RowShare::edge_count];
      for (int e = 0; e < RowShare::edge_count; ++e)
        rest_edge[e] = rest.has_edge(e) ? rest.load_edge(e) : Task::absent();
      __syncthreads();
      whole.merge(reduce_group<THREADS, ROWS>(summarize<Task>(rest, passing, rest_edge)));
    }
#else
    unsigned long long* const of_row = slots + static_cast<long long>(row) * PARTS * word_count<Summary>;
    whole = reduce_blocks<THREADS, PARTS>(whole, part, of_row);
#endif
  }

  const Task task(own, whole, arguments...);
#pragma unroll
  for (int e = 0; e < RowShare::edge_count; ++e) {
    if (share.has_edge(e)) set(to[share.edge_column(e)], task.one(edge[e], share.edge_column(e)));
  }
  if (share.last_chunk() < part) return;
  store_chunk(share, to, chunk, share.last_chunk(),
              [&](float(&values)[VECTOR], int column) { task.kept(values, column); });
  // Backwards: what was read last is still in the cache.
#pragma unroll 1
  for (int number = share.last_chunk() - PARTS; number >= 0; number -= PARTS) {
    share.load_chunk(chunk, number, Task::absent());
    store_chunk(share, to, chunk, number, [&](float(&values)[VECTOR], int column) { task.again(values, column); });
  }
}

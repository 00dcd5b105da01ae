// The part that kernels share which need two passes over each row of a matrix: a summary of the row, and a result for
// each element that depends on the summary. A row is read once where the threads that share it can hold it in
// registers. The macros are those of row_share.cuh.
//
// A Task has a Summary (group.cuh), and
//   add_one(summary, x), add(summary, chunk): to a thread's summary;
//   a constructor from the summary of a row and the kernel's arguments;
//   fetch(weights, column), finish(result, pack, weights, column): the results for the elements of a pack, which begins
//   in this column; one(x, column): the result for one element.
#pragma once

#include "row_share.cuh"

static_assert(PARTS == 1 || ROWS == 1, "blocks that share a row work on no other");

/// Tells the compiler that a chunk may have changed, so that it converts the elements again where they are used again:
/// as floats, elements of 2 bytes would take twice the registers from one use to the next.
__device__ inline void forget_values(Chunk& chunk) {
#if !defined(XTUNE_HOST)
  if constexpr (sizeof(Element) < 4) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
      for (unsigned int& word : chunk.pack[i].word) {
#if ON_NVIDIA
        asm volatile("" : "+r"(word));
#else
        asm volatile("" : "+v"(word));
#endif
      }
    }
  }
#endif
}

/// Writes a chunk's results to a row of y, a few packs at a time, whose weights are on their way together.
template <typename Task>
__device__ inline void store_results(const Task& task, const RowShare& share, Element* to, const Chunk& chunk,
                                     int number) {
  constexpr int step = min_of(ITEMS, 2);
  const bool aligned = reinterpret_cast<size_t>(to + share.column(number, 0)) % alignof(Pack<Element, VECTOR>) == 0;
#pragma unroll
  for (int first = 0; first < ITEMS; first += step) {
    typename Task::Weights weights[step];
#pragma unroll
    for (int i = 0; i < step; ++i) {
      if (first + i < min_of(ITEMS, chunk.count)) task.fetch(weights[i], share.column(number, first + i));
    }
#pragma unroll
    for (int i = 0; i < step; ++i) {
      if (first + i >= min_of(ITEMS, chunk.count)) continue;
      const int column = share.column(number, first + i);
      float result[VECTOR];
      task.finish(result, chunk.pack[first + i], weights[i], column);
      const ElementPack words = ElementPack::of(result);
      if (aligned) {
        words.store(to + column);
      } else {
        const Pack<Element, VECTOR> pack = words.pack();
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) to[column + v] = pack.x[v];
      }
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
    share.load(chunk, number);
    Task::add(summary, chunk);
    forget_values(chunk);
  }
  return summary;
}

/// y = the task's results for x, row by row. Grid: ceil(rows / ROWS) * PARTS. Block: ROWS * THREADS. With PARTS > 1,
/// marks are a zero, the ticket, and word_count zeros for each part of each row: one array, which is set to zero at
/// once. arguments: what the constructor of Task takes after the summary.
template <typename Task, typename... Arguments>
__device__ inline void process_rows(const Element* x, Element* y, unsigned long long* marks, int rows, int columns,
                                    Arguments... arguments) {
  using Summary = typename Task::Summary;
  const int block = PARTS > 1 ? order_of_start(reinterpret_cast<unsigned int*>(marks)) : static_cast<int>(blockIdx.x);
  const int row = block / PARTS * ROWS + static_cast<int>(threadIdx.x) / THREADS, part = block % PARTS;
  const long long start = static_cast<long long>(row) * columns;
  const int length = row < rows ? columns : 0;
  const RowShare share(x + start, length, part);
  Element* const to = y + start;
  float edge[RowShare::edge_count];
#pragma unroll
  for (int e = 0; e < RowShare::edge_count; ++e) edge[e] = share.has_edge(e) ? share.load_edge(e) : 0.0f;
  Chunk chunk;
  Summary whole = reduce_group<THREADS, ROWS>(summarize<Task>(share, chunk, edge));
  if constexpr (PARTS > 1) {
#if defined(XTUNE_HOST)
    // On a CPU, a block that another waits for may have to wait for that one's core: each works out all parts.
    for (int other = 0; other < PARTS; ++other) {
      if (other == part) continue;
      const RowShare rest(x + start, length, other);
      Chunk passing;
      float rest_edge[RowShare::edge_count];
      for (int e = 0; e < RowShare::edge_count; ++e) rest_edge[e] = rest.has_edge(e) ? rest.load_edge(e) : 0.0f;
      __syncthreads();
      whole.merge(reduce_group<THREADS, ROWS>(summarize<Task>(rest, passing, rest_edge)));
    }
#else
    unsigned long long* const of_row = marks + 1 + static_cast<long long>(row) * PARTS * word_count<Summary>;
    whole = reduce_blocks<THREADS, PARTS>(whole, part, of_row);
#endif
  }

  const Task task(whole, arguments...);
#pragma unroll
  for (int e = 0; e < RowShare::edge_count; ++e) {
    if (share.has_edge(e)) set(to[share.edge_column(e)], task.one(edge[e], share.edge_column(e)));
  }
  if (share.last_chunk() < part) return;
  store_results(task, share, to, chunk, share.last_chunk());
  // Backwards: what was read last is still in the cache.
#pragma unroll 1
  for (int number = share.last_chunk() - PARTS; number >= 0; number -= PARTS) {
    share.load(chunk, number);
    store_results(task, share, to, chunk, number);
  }
}

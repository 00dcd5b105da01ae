// y = A x for a sparse matrix A in CSR form. Either LANES threads sum PARTS rows, or (BALANCED) a block takes PARTS parts
// of as many elements as any other block's, whatever rows they are in. The parameters are macros from -D; README.md describes each.
#include "matrix.cuh"

constexpr int thread_elements = ITEMS * VECTOR;
constexpr int warp_count = BLOCK / lane_count;
static_assert(BLOCK % LANES == 0 && BLOCK % lane_count == 0, "a block has whole warps and whole rows");

/// VECTOR elements of a matrix: their products with x, zero for those outside [begin, end).
struct Products {
  Pack<VALUE, VECTOR> value;
  Pack<unsigned int, VECTOR> column;

  /// Reads the elements from k on, a multiple of VECTOR. packed: both arrays are aligned to packs.
  __device__ void load(const Matrix& a, int k, int element_count, bool packed) {
    if (packed && k + VECTOR <= element_count) {
      value = load_pack<VECTOR>(a.value + k);
      column = load_pack<VECTOR>(a.column + k);
      return;
    }
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      const bool exists = k + v < element_count;
      value.x[v] = exists ? a.value[k + v] : VALUE(0);
      column.x[v] = exists ? a.column[k + v] : 0u;
    }
  }

  __device__ VALUE product(const VALUE* x, int k, int v, int begin, int end) const {
    return begin <= k + v && k + v < end ? value.x[v] * x[column.x[v]] : VALUE(0);
  }
};

__device__ inline bool takes_packs(const Matrix& a) {
  return rows_take_packs<VECTOR>(a.value, VECTOR) && rows_take_packs<VECTOR>(a.column, VECTOR);
}

#if !BALANCED

/// Block: BLOCK. Grid: ceil(rows / (BLOCK / LANES * PARTS)). LANES threads sum PARTS rows at a time.
__device__ inline void multiply(const Matrix& a, const VALUE* x, VALUE* y) {
  constexpr int groups = BLOCK / LANES, step = LANES * VECTOR;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % LANES;
  const int first_row = static_cast<int>(blockIdx.x) * (groups * PARTS) + thread / LANES;
  const int element_count = a.row_begin[a.rows];
  const bool packed = takes_packs(a);
  const auto row = [&](int part) { return first_row + part * groups; };
  int begin[PARTS], end[PARTS], longest = 0;
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    begin[part] = row(part) < a.rows ? a.row_begin[row(part)] : 0;
    end[part] = row(part) < a.rows ? a.row_begin[row(part) + 1] : 0;
  }
#pragma unroll
  for (int part = 0; part < PARTS; ++part) longest = max_of(longest, end[part] - begin[part] / VECTOR * VECTOR);

  VALUE sum[PARTS] = {};
#pragma unroll 1
  for (int first = lane * VECTOR; first < longest; first += ITEMS * step) {
    const auto element = [&](int part, int i) { return begin[part] / VECTOR * VECTOR + first + i * step; };
    Products products[PARTS][ITEMS];
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
        if (element(part, i) < end[part]) products[part][i].load(a, element(part, i), element_count, packed);
      }
    }
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v)
          sum[part] += products[part][i].product(x, element(part, i), v, begin[part], end[part]);
      }
    }
  }
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
#pragma unroll
    for (int offset = min_of(LANES, lane_count) / 2; offset > 0; offset /= 2)
      sum[part] += shuffle_down(sum[part], offset);
  }
  if constexpr (LANES > lane_count) {
    __shared__ VALUE of_warps[PARTS][warp_count];
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      if (thread % lane_count == 0) of_warps[part][thread / lane_count] = sum[part];
    }
    __syncthreads();
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
#pragma unroll
      for (int i = 1; i < LANES / lane_count; ++i)
        if (lane == 0) sum[part] += of_warps[part][thread / lane_count + i];
    }
  }
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    if (lane == 0 && row(part) < a.rows) y[row(part)] = sum[part];
  }
}

#else

constexpr int part_elements = BLOCK * thread_elements;

/// The row of element k: the last one that begins at or before k. For all lanes of a warp.
__device__ inline int row_of(const Matrix& a, int k) {
  const int lane = static_cast<int>(threadIdx.x) % lane_count;
  int row = 0, beyond = a.rows;
  while (beyond - row > 1) {
    const int step = ceil_div(beyond - row, lane_count), probe = row + lane * step;
    const unsigned int before = xtune::ballot(probe < beyond && a.row_begin[probe] <= k);
    row += (__popc(before) - 1) * step;
    beyond = min_of(beyond, row + step);
  }
  return row;
}

/// A sum that may go on: of the elements since the row's begin, or since the first element in question.
struct Open {
  VALUE sum;
  int row;  // -1: no row has begun
};

/// What is open at this thread's first element, from what each thread leaves open: a row that has begun in it, or, with
/// row -1, what it adds to the row before. total: what is open at the end of the block.
__device__ inline Open open_before(Open mine, Open* warps, Open& total) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % lane_count, warp = thread / lane_count;
#pragma unroll
  for (int offset = 1; offset < lane_count; offset *= 2) {
    const VALUE sum = xtune::shuffle_up(mine.sum, offset);
    const int row = xtune::shuffle_up(mine.row, offset);
    if (lane >= offset && mine.row < 0) mine = {mine.sum + sum, row};
  }
  if (lane == lane_count - 1) warps[warp] = mine;
  const VALUE sum = xtune::shuffle_up(mine.sum, 1);
  const int row = xtune::shuffle_up(mine.row, 1);
  Open before = lane > 0 ? Open{sum, row} : Open{0, -1};
  __syncthreads();
  total = {0, -1};
  Open earlier = total;  // of the warps before this one
#pragma unroll
  for (int i = 0; i < warp_count; ++i) {
    if (i == warp) earlier = total;
    total = warps[i].row < 0 ? Open{total.sum + warps[i].sum, total.row} : warps[i];
  }
  return before.row < 0 ? Open{before.sum + earlier.sum, earlier.row} : before;
}

/// A block's elements in shared memory, one part after the other. A thread's elements lie side by side; a gap after them
/// keeps threads off each other's banks.
struct Part {
  VALUE product[part_elements + BLOCK];
  int begun[part_elements + BLOCK];  // the row that begins with an element, or -1
  Open warps[warp_count];
  int first_row;

  static __device__ int place(int element) { return element + element / thread_elements; }

  __device__ void put(int element, VALUE value) { product[place(element)] = value; }
  /// Notes the rows that begin in [first, end), from first_row on, which has the element at `first` or ends there.
  __device__ void note_rows(const Matrix& a, int first, int end) {
#pragma unroll 1
    for (int row = first_row + static_cast<int>(threadIdx.x); row < a.rows; row += BLOCK) {
      const int begin = a.row_begin[row];
      if (begin >= end) break;
      if (begin >= first && begin < a.row_begin[row + 1]) begun[place(begin - first)] = row;
    }
  }
};

/// Adds up the rows that begin and end in the part, and adds to y what others have of those that do not.
__device__ inline void finish_part(Part& part, const Matrix& a, VALUE* y, int first) {
  const int thread = static_cast<int>(threadIdx.x), first_row = part.first_row;
  Open open{0, -1};
  VALUE lead = 0;  // of this thread's elements before the first row that begins in them
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) {
    const int here = Part::place(thread * thread_elements + i), row = part.begun[here];
    if (row >= 0) {
      part.begun[here] = -1;  // for the next part
      if (open.row >= 0) {
        y[open.row] = open.sum;
      } else {
        lead = open.sum;
      }
      open = {0, row};
    }
    open.sum += part.product[here];
  }
  Open total;
  const Open before = open_before(open, part.warps, total);
  // The row that is open before this thread ends in it.
  if (open.row >= 0) {
    if (before.row >= 0) {
      y[before.row] = before.sum + lead;
    } else if (thread > 0 || a.row_begin[first_row] < first) {
      atomicAdd(y + first_row, before.sum + lead);
    }
  }
  if (thread == BLOCK - 1) {
    const int last_row = total.row < 0 ? first_row : total.row;
    atomicAdd(y + last_row, total.sum);
    part.first_row = last_row;
  }
}

/// Block: BLOCK. Grid: ceil(element_count / (PARTS * part_elements)). y is zero before: rows without elements stay so,
/// and rows that lie in several parts are added up.
__device__ inline void multiply(const Matrix& a, const VALUE* x, VALUE* y) {
  __shared__ Part part;
  const int thread = static_cast<int>(threadIdx.x), element_count = a.row_begin[a.rows];
  const bool packed = takes_packs(a);
  int first = static_cast<int>(blockIdx.x) * (PARTS * part_elements);
  const int last = min_of(first + PARTS * part_elements, element_count);
  const auto element = [&](int i) { return (i * BLOCK + thread) * VECTOR; };
  Products products[ITEMS];
  const auto load = [&](int from) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) products[i].load(a, from + element(i), element_count, packed);
  };

  load(first);
#pragma unroll
  for (int i = 0; i < thread_elements; ++i) part.begun[thread * (thread_elements + 1) + i] = -1;
  if (thread < lane_count) {
    const int row = row_of(a, first);
    if (thread == 0) part.first_row = row;
  }
  __syncthreads();
#pragma unroll 1
  for (; first < last; first += part_elements) {
    const int end = min_of(first + part_elements, last);
    part.note_rows(a, first, end);  // while the elements are on their way
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v)
        part.put(element(i) + v, products[i].product(x, first + element(i), v, first, end));
    }
    if (end < last) load(end);  // on its way while rows are added up
    __syncthreads();
    finish_part(part, a, y, first);
    __syncthreads();
  }
}

#endif

/// The arguments but x and y are those of Matrix. Grid and block: see multiply() above.
extern "C" __global__ void LAUNCH_BOUNDS(BLOCK, 1)
    spmv(const int* row_begin, const unsigned int* column, const VALUE* value, const VALUE* x, VALUE* y, int rows) {
  multiply({row_begin, column, value, rows}, x, y);
}

// O = softmax(scale * Q * K^T) * V for few rows of Q and many keys, which blocks share. README.md describes the design
// and the parameters.
#include "../common/group.cuh"
#include "ring.cuh"

constexpr int rows = 8 * TILES;  // of Q, of a block

/// Which rows of Q, and which keys, a block has. Rows that share keys are numbered through: `group` heads of the first
/// position, then of the next one.
struct Share {
  int sequence, kv_head, split, task;  // task: the same for all blocks that share rows
  int first, count;                    // rows
  int begin, end, length;              // keys; those of the sequence

  __device__ Share(const int* lengths, int all_rows, int kv_heads, int splits) {
    const int row_blocks = ceil_div(all_rows, rows), block = static_cast<int>(blockIdx.x);
    // Blocks that read the same keys are neighbours.
    const int head = block / row_blocks / splits;
    split = block / row_blocks % splits;
    task = head * row_blocks + block % row_blocks;
    sequence = head / kv_heads;
    kv_head = head % kv_heads;
    first = block % row_blocks * rows;
    count = min_of(rows, all_rows - first);
    length = lengths[sequence];
    begin = border(split, splits);
    end = border(split + 1, splits);
  }

 private:
  __device__ int border(int number, int splits) const {
    return number == splits ? length : static_cast<int>(static_cast<long long>(length) * number / splits) / 16 * 16;
  }
};

/// In memory: what some of the keys add to the rows of a block. Weights are relative to the maximum.
struct Sums {
  float output[rows][HEAD_DIM], maximum[rows], sum[rows];
};

/// The same of a warp's keys, in its registers. A lane has rows 8 * tile + lane % 4 * 2 + c.
struct Part {
  float maximum[TILES][2], sum[TILES][2];
  float output[TILES][HEAD_DIM / 16][4];

  __device__ Part() {
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
      maximum[t][0] = maximum[t][1] = -infinity();
      sum[t][0] = sum[t][1] = 0;
#pragma unroll
      for (int i = 0; i < HEAD_DIM / 4; ++i) output[t][i / 4][i % 4] = 0;
    }
  }
  __device__ void multiply(int tile, int c, float factor) {
    sum[tile][c] *= factor;
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 16; ++i) {
      output[tile][i][c] *= factor;
      output[tile][i][c + 2] *= factor;
    }
  }
  /// Replaces the scores of 8 rows by their weights, relative to the rows' new maxima.
  __device__ void weigh(int tile, float (&scores)[STEPS][4], float scale) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float before = maximum[tile][c];
      float largest = before;
#pragma unroll
      for (int s = 0; s < STEPS; ++s) largest = fmaxf(largest, fmaxf(scores[s][c], scores[s][c + 2]));
#pragma unroll
      for (int bits = 4; bits < lane_count; bits *= 2) largest = fmaxf(largest, shuffle_xor(largest, bits));
      maximum[tile][c] = largest;
      // No key yet: infinity - infinity would be NaN.
      const float offset = largest == -infinity() ? 0.0f : largest * scale;
      multiply(tile, c, fast_exp2(before * scale - offset));
#pragma unroll
      for (int i = 0; i < 2 * STEPS; ++i) {
        float& score = scores[i / 2][c + i % 2 * 2];
        score = fast_exp2(score * scale - offset);
        sum[tile][c] += score;
      }
    }
  }
  __device__ void store(Sums& to) const {
#pragma unroll
    for (int i = 0; i < 2 * TILES; ++i) {
      const int t = i / 2, c = i % 2, row = 8 * t + lane() % 4 * 2 + c;
      float total = sum[t][c];
#pragma unroll
      for (int bits = 4; bits < lane_count; bits *= 2) total += shuffle_xor(total, bits);
      if (lane() < 4) {
        to.maximum[row] = maximum[t][c];
        to.sum[row] = total;
      }
#pragma unroll
      for (int j = 0; j < HEAD_DIM / 8; ++j) to.output[row][8 * j + lane() / 4] = output[t][j / 2][j % 2 * 2 + c];
    }
  }
};

/// Hides keys from `visible` on.
__device__ inline void mask(float (&scores)[STEPS][4], int first, const int (&visible)[2]) {
#pragma unroll
  for (int i = 0; i < 4 * STEPS; ++i)
    if (first + i / 2 * 8 + lane() / 4 >= visible[i % 2]) scores[i / 4][i % 4] = -infinity();
}

/// Every WARPS-th step of the block's keys.
__device__ inline void attend(Part& part, Ring& ring, const Share& share, const Queries& q, const Matrix& k,
                              const Matrix& v, int queries, int group, float scale) {
  constexpr int stride = WARPS * step_keys;
  int visible[TILES][2];
#pragma unroll
  for (int i = 0; i < 2 * TILES; ++i) {
    const int position = (share.first + i / 2 * 8 + lane() % 4 * 2 + i % 2) / group;
    visible[i / 2][i % 2] = CAUSAL ? min_of(share.end, share.length - queries + 1 + position) : share.end;
  }
  const int visible_to_all = CAUSAL ? min_of(share.end, share.length - queries + 1) : share.end;
  int next = share.begin + static_cast<int>(threadIdx.x) / lane_count * step_keys, stage = 0;
  // A step's keys are one group of copies, its values another; groups may be empty.
  const auto copy = [&](int to) {
    if (next < share.end) ring.k[to].copy(k, next, share.end);
    async_copy_commit();
    if (next < share.end) ring.v[to].copy(v, next, share.end);
    async_copy_commit();
    next += stride;
  };
  int first = next;
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) copy(i);
#pragma unroll 1
  for (; first < share.end; first += stride) {
    copy(stage == 0 ? STAGES - 1 : stage - 1);
    async_copy_wait<2 * STAGES - 1>();
    xtune::sync_lanes();
    float scores[TILES][STEPS][4];
    multiply_keys(scores, ring.k[stage], q);
    Unit::B weights[TILES][STEPS];
#pragma unroll
    for (int t = 0; t < TILES; ++t) {
      if (first + step_keys > visible_to_all) mask(scores[t], first, visible[t]);
      part.weigh(t, scores[t], scale);
#pragma unroll
      for (int s = 0; s < STEPS; ++s) weights[t][s] = operand(scores[t][s]);
    }
    async_copy_wait<2 * STAGES - 2>();
    xtune::sync_lanes();
    multiply_values(part.output, ring.v[stage], weights);
    xtune::sync_lanes();  // all lanes have read the stage, which the next copy overwrites
    stage = stage + 1 == STAGES ? 0 : stage + 1;
  }
}

/// Four columns of a row, of several parts together.
struct Merged {
  float output[4] = {}, maximum = -infinity(), sum = 0;

  __device__ Merged(const Sums* parts, int count, int row, int column, float scale) {
#pragma unroll 4
    for (int p = 0; p < count; ++p) {
      const float other = parts[p].maximum[row];
      if (other == -infinity()) continue;
      const float larger = fmaxf(maximum, other);
      const float mine = fast_exp2((maximum - larger) * scale), its = fast_exp2((other - larger) * scale);
      maximum = larger;
      sum = sum * mine + parts[p].sum[row] * its;
      const auto x = *reinterpret_cast<const xtune::pack<float, 4>*>(&parts[p].output[row][column]);
#pragma unroll
      for (int i = 0; i < 4; ++i) output[i] = output[i] * mine + x[i] * its;
    }
  }
};

/// Merges parts, and hands each row's columns over: write(row, column, merged).
template <class Write>
__device__ inline void merge(const Sums* parts, int count, int row_count, float scale, Write write) {
  for (int i = 4 * static_cast<int>(threadIdx.x); i < row_count * HEAD_DIM; i += 4 * WARPS * lane_count)
    write(i / HEAD_DIM, i % HEAD_DIM, Merged(parts, count, i / HEAD_DIM, i % HEAD_DIM, scale));
}

/// Grid: blocks of rows * kv_heads * sequences * splits. `partials`: a Sums for each block, if splits > 1; `counters`:
/// a 0 for each task, which is 0 again at the end.
extern "C" __global__ void LAUNCH_BOUNDS(WARPS* lane_count, MIN_BLOCKS)
    attention_decode(const Element* q, const Element* k, const Element* v, Element* o, const int* lengths,
                     Sums* partials, unsigned int* counters, int queries, int keys, int kv_heads, int group, int splits,
                     float scale) {
  extern __shared__ __align__(128) unsigned char memory[];
  const Share share(lengths, queries * group, kv_heads, splits);
  // The place of a row in Q and O.
  const auto place = [&](int row) {
    const long long r = share.first + min_of(row, share.count - 1), position = share.sequence * queries + r / group;
    return ((position * kv_heads + share.kv_head) * group + r % group) * HEAD_DIM;
  };
  const long long pitch = static_cast<long long>(kv_heads) * HEAD_DIM;
  const long long first_key = share.sequence * keys * pitch + share.kv_head * HEAD_DIM;
  Ring* const rings = reinterpret_cast<Ring*>(memory);
  const Queries rows_of_q(reinterpret_cast<Element*>(rings + WARPS), [&](int row) { return q + place(row); });
  const int warp = static_cast<int>(threadIdx.x) / lane_count;
  Part part;
  attend(part, rings[warp], share, rows_of_q, {k + first_key, pitch}, {v + first_key, pitch}, queries, group, scale);
  __syncthreads();  // the rings are free
  Sums* const parts = reinterpret_cast<Sums*>(memory);
  part.store(parts[warp]);
  __syncthreads();

  const auto finish = [&](int row, int column, const Merged& merged) {
    const float factor = merged.sum > 0 ? 1 / merged.sum : 0.0f;
    xtune::pack<Element, 4> result;
#pragma unroll
    for (int i = 0; i < 4; ++i) result[i] = Element(merged.output[i] * factor);
    *reinterpret_cast<xtune::pack<Element, 4>*>(o + place(row) + column) = result;
  };
  if (splits == 1) return merge(parts, WARPS, share.count, scale, finish);
  Sums* const of_task = partials + static_cast<long long>(share.task) * splits;
  merge(parts, WARPS, share.count, scale, [&](int row, int column, const Merged& merged) {
    Sums& to = of_task[share.split];
    if (column == 0) {
      to.maximum[row] = merged.maximum;
      to.sum[row] = merged.sum;
    }
    *reinterpret_cast<xtune::pack<float, 4>*>(&to.output[row][column]) = {
        {merged.output[0], merged.output[1], merged.output[2], merged.output[3]}};
  });
  if (!arrives_last(counters + share.task, splits)) return;
  merge(of_task, splits, share.count, scale, finish);
  if (threadIdx.x == 0) counters[share.task] = 0;
}

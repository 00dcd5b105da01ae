// Keys and values on their way: each warp copies its own through shared memory, and multiplies 16 of them at a time.
#pragma once

#include <xtune/matrix.cuh>

#include "../common/async_copy.cuh"

#if INPUT_BF16
using Element = xtune::bf16;
#else
using Element = xtune::f16;
#endif
using Unit = xtune::matrix::Product<Element, 8>;

constexpr int step_keys = 16 * STEPS;

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % lane_count; }

/// Rows of K or V of one head: the first element, and elements from row to row.
struct Matrix {
  const Element* data;
  long long pitch;
};

/// As many rows of K or V as a step has.
struct alignas(128) Rows {
  Element element[step_keys * HEAD_DIM];

  __device__ const Element* at(int row, int column) const {
    return element + xtune::matrix::swizzled_within_rows<Element, HEAD_DIM>(row, column);
  }
  /// Starts copying rows from `first` on; those from `end` on become 0.
  __device__ void copy(const Matrix& from, int first, int end) {
    constexpr int units = HEAD_DIM / 8;  // of 16 bytes, in a row
#pragma unroll
    for (int i = 0; i < step_keys * units / lane_count; ++i) {
      const int unit = i * lane_count + lane(), row = unit / units, column = unit % units * 8;
      const bool valid = first + row < end;
      async_copy<16>(element + xtune::matrix::swizzled_within_rows<Element, HEAD_DIM>(row, column),
                     from.data + (valid ? (first + row) * from.pitch + column : 0), valid);
    }
  }
};

/// A warp's keys and values of STAGES steps.
struct Ring {
  Rows k[STAGES], v[STAGES];
};

#define Q_SHARED (TILES * HEAD_DIM > 256)

/// A block's rows of Q as operands, in registers, or where those are too many, in shared memory.
class Queries {
 public:
  /// row(r): where row r begins. All threads of the block call this. memory: for 8 * TILES rows, if Q_SHARED.
  template <class Row>
  __device__ Queries(Element* memory, Row row) {
#if Q_SHARED
    constexpr int units = HEAD_DIM / 8;
    for (int i = static_cast<int>(threadIdx.x); i < 8 * TILES * units; i += WARPS * lane_count)
      memcpy(memory + place(i / units, i % units * 8), row(i / units) + i % units * 8, 16);
    __syncthreads();
    memory_ = memory;
#else
#pragma unroll
    for (int i = 0; i < TILES * HEAD_DIM / 8; ++i) {
      const int tile = i / (HEAD_DIM / 8), column = i % (HEAD_DIM / 8) * 8;
      memcpy(&part_[tile][column / 16].word[column / 8 % 2], row(8 * tile + lane() / 4) + column + lane() % 4 * 2, 4);
    }
#endif
  }
  /// Columns from 16 * d on.
  __device__ void read(Unit::B (&to)[TILES], int d) const {
#if Q_SHARED
#pragma unroll
    for (int t = 0; t < TILES; t += 2) {
      Unit::A both;
      Unit::load_a(both, lane(), [&](int row, int column) { return memory_ + place(8 * t + row, 16 * d + column); });
      to[t] = {{both.word[0], both.word[2]}};
      to[t + 1] = {{both.word[1], both.word[3]}};
    }
#else
#pragma unroll
    for (int t = 0; t < TILES; ++t) to[t] = part_[t][d];
#endif
  }

 private:
#if Q_SHARED
  __device__ static int place(int row, int column) {
    return xtune::matrix::swizzled_within_rows<Element, HEAD_DIM>(row, column);
  }
  const Element* memory_;
#else
  Unit::B part_[TILES][HEAD_DIM / 16];
#endif
};

/// Scores of 16 keys for 8 rows of Q: keys lane() / 4 + i / 2 * 8 of a step's part, for rows lane() % 4 * 2 + i % 2.
__device__ inline void multiply_keys(float (&scores)[TILES][STEPS][4], const Rows& k, const Queries& q) {
#pragma unroll
  for (int i = 0; i < TILES * STEPS * 4; ++i) scores[i / 4 / STEPS][i / 4 % STEPS][i % 4] = 0;
#pragma unroll
  for (int d = 0; d < HEAD_DIM / 16; ++d) {
    Unit::B b[TILES];
    q.read(b, d);
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
      Unit::A a;
      Unit::load_a(a, lane(), [&](int row, int column) { return k.at(16 * s + row, 16 * d + column); });
#pragma unroll
      for (int t = 0; t < TILES; ++t) Unit::multiply_add(scores[t][s], a, b[t]);
    }
  }
}

/// Weights of 16 keys, laid out as multiply_keys leaves scores, as an operand: its columns are rows of Q.
__device__ inline Unit::B operand(const float (&weights)[4]) {
  Unit::B result;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const auto both = xtune::narrow<Element>(weights[2 * i], weights[2 * i + 1]);
    const unsigned pair = both[0].bits | static_cast<unsigned>(both[1].bits) << 16;
    const int holder = lane() % 4 * 8 + lane() / 8;  // of the first of two keys; the other is 4 lanes on
    const unsigned first = xtune::shuffle(pair, holder), second = xtune::shuffle(pair, holder + 4);
    result.word[i] = __byte_perm(first, second, lane() / 4 % 2 == 0 ? 0x5410 : 0x7632);
  }
  return result;
}

/// Adds the values' products with the weights to the output of 8 rows of Q: columns 16 * d + lane() / 4 + i / 2 * 8, of
/// rows lane() % 4 * 2 + i % 2.
__device__ inline void multiply_values(float (&output)[TILES][HEAD_DIM / 16][4], const Rows& v,
                                       const Unit::B (&weights)[TILES][STEPS]) {
#pragma unroll
  for (int s = 0; s < STEPS; ++s) {
#pragma unroll
    for (int d = 0; d < HEAD_DIM / 16; ++d) {
      // Columns of V are rows of the product: what is read as two operands of columns is one of rows.
      Unit::B columns[2];
      Unit::load_b(columns, lane(), [&](int row, int column) { return v.at(16 * s + row, 16 * d + column); });
      const Unit::A a{{columns[0].word[0], columns[1].word[0], columns[0].word[1], columns[1].word[1]}};
#pragma unroll
      for (int t = 0; t < TILES; ++t) Unit::multiply_add(output[t][d], a, weights[t][s]);
    }
  }
}

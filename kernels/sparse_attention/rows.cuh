// A warp computes 16 heads of one position: scores = Q * K^T, weights = softmax(scores), output = weights * V, one
// block of keys and values after the other.
#pragma once

#include "../attention_hopper/softmax.cuh"
#include "layout.cuh"

class Rows {
 public:
  /// q: these rows of Q, which have arrived. Scores times `scale` are exponents of 2.
  __device__ __forceinline__ Rows(Tile<rows>& q, int position, float scale)
      : q_(q), position_(position), lane_(threadIdx.x % 32), softmax_(scale) {}

  /// first: the position of the first key.
  __device__ __forceinline__ void add(const Tile<BLOCK_SIZE>& k, const Tile<BLOCK_SIZE>& v, int first) {
#pragma unroll
    for (int key = 0; key < BLOCK_SIZE; key += keys_at_once) {
      if (first + key > position_) break;
      add_keys(k, v, key, first + key);
    }
    any_ = true;
  }

  /// Rounds the output, and writes it in place of Q. Zeros, if there were no keys.
  __device__ __forceinline__ void finish() {
    const float factors[2] = {any_ ? softmax_.finish(0) : 0.0f, any_ ? softmax_.finish(1) : 0.0f};
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; ++step) {
      unsigned packed[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const pair = output_ + 8 * step + 2 * i;
        packed[i] = hopper::narrow<type>(pair[0] * factors[i % 2], pair[1] * factors[i % 2]);
      }
      hopper::store_matrices(q_.at(lane_ % 16, 2 * step + lane_ / 16), packed[0], packed[1], packed[2], packed[3]);
    }
  }

 private:
  static constexpr int scores = keys_at_once / 2;

  __device__ __forceinline__ void add_keys(const Tile<BLOCK_SIZE>& k, const Tile<BLOCK_SIZE>& v, int key, int first) {
    float x[scores] = {};
    multiply_keys(x, k, key);
    if (first + keys_at_once > position_ + 1) mask(x, first);
    float factors[2];
    softmax_.raise(x, factors);
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 2; ++i) output_[i] *= factors[i / 2 % 2];
    softmax_.exponentiate(x, factors);
    multiply_values(x, v, key);
  }

  // Four matrices of 8 x 8 at a time: lanes 0 to 7 have the rows of the first one, and so on.
  __device__ __forceinline__ void multiply_keys(float (&x)[scores], const Tile<BLOCK_SIZE>& k, int key) const {
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; ++step) {
      unsigned queries[4];
      hopper::load_matrices(q_.at(lane_ % 16, 2 * step + lane_ / 16), queries);
#pragma unroll
      for (int i = 0; i < keys_at_once / 16; ++i) {
        unsigned keys[4];
        hopper::load_matrices(k.at(key + 16 * i + lane_ / 16 * 8 + lane_ % 8, 2 * step + lane_ / 8 % 2), keys);
        hopper::warp_product<type>(x + 8 * i, queries, keys[0], keys[1]);
        hopper::warp_product<type>(x + 8 * i + 4, queries, keys[2], keys[3]);
      }
    }
  }

  __device__ __forceinline__ void multiply_values(const float (&x)[scores], const Tile<BLOCK_SIZE>& v, int key) {
#pragma unroll
    for (int i = 0; i < keys_at_once / 16; ++i) {
      unsigned weights[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) weights[j] = hopper::narrow<type>(x[8 * i + 2 * j], x[8 * i + 2 * j + 1]);
#pragma unroll
      for (int step = 0; step < HEAD_DIM / 16; ++step) {
        unsigned values[4];
        hopper::load_matrices_transposed(v.at(key + 16 * i + lane_ % 16, 2 * step + lane_ / 16), values);
        hopper::warp_product<type>(output_ + 8 * step, weights, values[0], values[1]);
        hopper::warp_product<type>(output_ + 8 * step + 4, weights, values[2], values[3]);
      }
    }
  }

  /// Hides keys behind the position.
  __device__ __forceinline__ void mask(float (&x)[scores], int first) const {
    const int last = position_ - first - lane_ % 4 * 2;
#pragma unroll
    for (int i = 0; i < scores; ++i) {
      if (i / 4 * 8 + i % 2 > last) x[i] = -infinity();
    }
  }

  Tile<rows>& q_;
  int position_, lane_;
  Softmax softmax_;
  bool any_ = false;
  float output_[HEAD_DIM / 2] = {};
};

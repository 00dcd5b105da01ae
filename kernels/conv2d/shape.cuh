// Sizes, types and layouts of a convolution, for conv2d.cu and its reference.
#pragma once

#include "../common/pack.cuh"

#if INPUT_F16 && ON_NVIDIA
#include <cuda_fp16.h>
#endif

#if INPUT_F16
using Input = __half;
__device__ inline float to_float(__half value) { return __half2float(value); }
#else
using Input = float;
__device__ inline float to_float(float value) { return value; }
#endif

constexpr int filter_size = FILTER_H * FILTER_W;

/// Images of x: n x c x h x w (NHWC: n x h x w x c); filters: f x c x FILTER_H x FILTER_W (NHWC: f x FILTER_H x FILTER_W
/// x c); y: n x f x p x q (NHWC: n x p x q x f).
struct Shape {
  int n, c, h, w, f, p, q;

  /// Within an image.
  __device__ int input_index(int channel, int row, int column) const {
    return NHWC ? (row * w + column) * c + channel : (channel * h + row) * w + column;
  }
  __device__ long long image_size() const { return static_cast<long long>(c) * h * w; }
  /// place: row and column of the filter as one number.
  __device__ int filter_index(int filter, int channel, int place) const {
    return NHWC ? (filter * filter_size + place) * c + channel : (filter * c + channel) * filter_size + place;
  }
  __device__ long long output_index(int image, int filter, int row, int column) const {
    return NHWC ? ((static_cast<long long>(image) * p + row) * q + column) * f + filter
                : ((static_cast<long long>(image) * f + filter) * p + row) * q + column;
  }
};

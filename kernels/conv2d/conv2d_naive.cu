// Convolution by its definition, one thread per result, sums in f64: the reference for conv2d.cu.
#include "shape.cuh"

/// Takes conv2d's arguments. Threads: at least as many as results, in one dimension.
extern "C" __global__ void conv2d_naive(const Input* x, const Input* filters, float* y, int n, int c, int h, int w, int f,
                                        int p, int q) {
  const Shape shape{n, c, h, w, f, p, q};
  const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread >= static_cast<long long>(n) * f * p * q) return;
  const int column = static_cast<int>(thread % q), row = static_cast<int>(thread / q % p);
  const int filter = static_cast<int>(thread / q / p % f), image = static_cast<int>(thread / q / p / f);
  const Input* const pixels = x + image * shape.image_size();
  double sum = 0;
  for (int channel = 0; channel < c; ++channel) {
    for (int place = 0; place < filter_size; ++place) {
      const int i = row * STRIDE - PADDING + place / FILTER_W * DILATION;
      const int j = column * STRIDE - PADDING + place % FILTER_W * DILATION;
      if (i < 0 || i >= h || j < 0 || j >= w) continue;
      sum += static_cast<double>(to_float(pixels[shape.input_index(channel, i, j)])) *
             to_float(filters[shape.filter_index(filter, channel, place)]);
    }
  }
  y[shape.output_index(image, filter, row, column)] = static_cast<float>(sum);
}

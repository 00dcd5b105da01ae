// Gravitation of n bodies on each other by its definition, one thread per body, sums in f64: the reference for
// nbody.cu.

/// Takes nbody's arguments. Threads: at least n.
extern "C" __global__ void nbody_naive(const float* bodies, float* accelerations, int n, float softening) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const float* const target = bodies + 4 * static_cast<long long>(i);
  double sum[3] = {};
  for (int j = 0; j < n; ++j) {
    const float* const source = bodies + 4 * static_cast<long long>(j);
    float d[3], square = softening;
    for (int axis = 0; axis < 3; ++axis) {
      d[axis] = source[axis] - target[axis];
      square += d[axis] * d[axis];
    }
    const float scale = source[3] / (square * sqrtf(square));
    for (int axis = 0; axis < 3; ++axis) sum[axis] += scale * d[axis];
  }
  for (int axis = 0; axis < 3; ++axis) accelerations[4 * static_cast<long long>(i) + axis] = static_cast<float>(sum[axis]);
  accelerations[4 * static_cast<long long>(i) + 3] = 0.0f;
}

// y = a * x + y on a GPU; prints the median time of one launch, as JSON, and whether the result is right.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                     \
  if (const cudaError_t error = call; error != cudaSuccess) {                           \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
    return 1;                                                                           \
  }

__global__ void axpy(float a, const float* x, float* y, int n) {
  const int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k)
    if (const int i = first + k * BLOCK; i < n) y[i] += a * x[i];
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20, launches = 21;
  const std::size_t bytes = n * sizeof(float);
  std::vector<float> host(n, 1);
  float *x = nullptr, *y = nullptr;
  CHECK(cudaMalloc(&x, bytes));
  CHECK(cudaMalloc(&y, bytes));
  CHECK(cudaMemcpy(x, host.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(y, 0, bytes));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times_ms(launches);
  for (float& time_ms : times_ms) {
    CHECK(cudaEventRecord(begin));
    axpy<<<(n + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), BLOCK>>>(2, x, y, n);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaGetLastError());
    CHECK(cudaEventElapsedTime(&time_ms, begin, end));
  }
  CHECK(cudaMemcpy(host.data(), y, bytes, cudaMemcpyDeviceToHost));
  const bool right = std::all_of(host.begin(), host.end(), [](float value) { return value == 2 * launches; });
  std::nth_element(times_ms.begin(), times_ms.begin() + launches / 2, times_ms.end());
  const double time_ms = times_ms[launches / 2];
  std::printf("{\"time_ms\": %.6f, \"GB_per_s\": %.1f, \"right\": %s}\n", time_ms, 3e-6 * bytes / time_ms,
              right ? "true" : "false");
}

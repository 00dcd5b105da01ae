// Tunes one matrix product for several shapes and shows that each has a different configuration.
//   gemm_by_shape [backend [size]]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "xtune/tune.hpp"

namespace {

// C = A * B, row by row: a block of TILE_M x TILE_N threads makes TILE_M x TILE_N elements, K in steps of TILE_K.
const char* const source = R"(
extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_tile[TILE_M][TILE_K];
  __shared__ float b_tile[TILE_K][TILE_N];
  const int row = blockIdx.y * TILE_M + threadIdx.y, column = blockIdx.x * TILE_N + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < k; start += TILE_K) {
    for (int i = threadIdx.x; i < TILE_K; i += TILE_N)
      a_tile[threadIdx.y][i] = row < m && start + i < k ? a[row * k + start + i] : 0;
    for (int i = threadIdx.y; i < TILE_K; i += TILE_M)
      b_tile[i][threadIdx.x] = column < n && start + i < k ? b[(start + i) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < TILE_K; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
)";

xtune::Tunable gemm(std::int64_t size) {
  xtune::Tunable tunable("gemm_by_shape");
  tunable.source(source)
      .entry("gemm")
      .problem("M", size)
      .problem("N", size)
      .problem("K", size)
      .add_case({})  // the square one
      .add_case({{"M", size / 16}, {"N", size * 4}})
      .add_case({{"M", size * 4}, {"N", size / 16}})
      .param("TILE_M", {4, 8, 16})
      .param("TILE_N", {8, 16})
      .param("TILE_K", {8, 16})
      .constraint("TILE_M <= M and TILE_M * TILE_N <= device.max_threads_per_block")
      .grid({"ceildiv(N, TILE_N)", "ceildiv(M, TILE_M)"})
      .block({"TILE_N", "TILE_M"})
      .input("a", xtune::DType::f32, {"M", "K"})
      .input("b", xtune::DType::f32, {"K", "N"})
      .output("c", xtune::DType::f32, {"M", "N"})
      .scalar("m", xtune::DType::i32, "M")
      .scalar("n", xtune::DType::i32, "N")
      .scalar("k", xtune::DType::i32, "K")
      .reference_builtin("gemm", {{"a", "a"}, {"b", "b"}})
      .metric("GFLOPS", "2 * M * N * K / time_s / 1e9");
  return tunable;
}

std::string text_of(const xtune::Bindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings) text += (text.empty() ? "" : " ") + name + "=" + xtune::to_text(value);
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  xtune::TuneSettings settings;
  if (argc > 1) settings.backend = argv[1];
  const std::int64_t size = argc > 2 ? std::atoll(argv[2]) : 1024;
  if (size < 64 || size % 64 != 0) throw xtune::Error(xtune::ErrorKind::invalid_argument, "size: a multiple of 64");
  for (const xtune::Result& result : xtune::tune_cases(gemm(size), settings)) {
    const xtune::Measurement& best = result.best();
    std::printf("%-24s %-28s %9.4f ms %8.1f GFLOPS\n", text_of(result.problem).c_str(), text_of(best.config).c_str(),
                best.time_ms, best.metrics.at(0).second);
  }
  return EXIT_SUCCESS;
} catch (const xtune::Error& error) {
  std::fprintf(stderr, "gemm_by_shape: %s\n", error.what());
  return EXIT_FAILURE;
}

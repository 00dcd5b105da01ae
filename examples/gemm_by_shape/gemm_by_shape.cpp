// Tunes one matrix product for several shapes, whose sizes are arguments of the kernel, and then asks for a shape that
// was not tuned. On the host backend it also computes that product and checks it.
//   gemm_by_shape [backend [size]]; the size is 1024, or 64 where a CPU runs the kernel
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "xtune/inventory.hpp"
#include "xtune/kernel.hpp"
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

/// The sizes do not change what is compiled, so each configuration is compiled once for all shapes.
bool compiled_once(const std::vector<xtune::Result>& results) {
  std::set<std::string> configs, kernels;
  for (const xtune::Result& result : results)
    for (const xtune::Measurement& measurement : result.measurements) {
      configs.insert(text_of(measurement.config));
      kernels.insert(measurement.artifact_key);
    }
  std::printf("%zu shapes, %zu configurations, %zu compiled kernels\n", results.size(), configs.size(), kernels.size());
  return kernels.size() <= configs.size();
}

/// Prints the configuration for a shape that was not tuned: that of the nearest shape.
bool answers(const xtune::Kernel& product, const xtune::Bindings& problem) {
  const xtune::Choice choice = product.choice(problem);
  std::printf("%-24s %-28s %s: as for %s\n", text_of(problem).c_str(), text_of(choice.config).c_str(),
              to_string(choice.kind), text_of(choice.measured_for).c_str());
  return choice.kind == xtune::Choice::Kind::nearest;
}

/// Computes a product in host memory. Whether it is right.
bool multiplies(const xtune::Kernel& product, std::int32_t m, std::int32_t n, std::int32_t k) {
  const auto elements = [](std::int32_t rows, std::int32_t columns) {
    return std::size_t(rows) * std::size_t(columns);
  };
  std::vector<float> a(elements(m, k), 2.0F), b(elements(k, n), 3.0F), c(elements(m, n));
  product(nullptr, a.data(), b.data(), c.data(), m, n, k);
  for (const float value : c)
    if (value != 6.0F * static_cast<float>(k)) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  xtune::TuneSettings settings;
  if (argc > 1) settings.backend = argv[1];
  const std::string& backend = settings.backend;
  const bool on_cpu = backend == "host" || (backend == "auto" && xtune::devices("gpu").empty());
  const std::int64_t size = argc > 2 ? std::atoll(argv[2]) : on_cpu ? 64 : 1024;
  if (size < 64 || size % 64 != 0) throw xtune::Error(xtune::ErrorKind::invalid_argument, "size: a multiple of 64");
  const std::vector<xtune::Result> results = xtune::tune_cases(gemm(size), settings);
  for (const xtune::Result& result : results) {
    const xtune::Measurement& best = result.best();
    std::printf("%-24s %-28s %9.4f ms %8.1f GFLOPS\n", text_of(result.problem).c_str(), text_of(best.config).c_str(),
                best.time_ms, best.metrics.at(0).second);
  }
  bool right = compiled_once(results);
  xtune::LoadSettings loading;
  loading.backend = settings.backend;
  const xtune::Kernel product = xtune::load(gemm(size), loading);
  const std::int64_t few = size / 8 + 1, many = 2 * size + 3;
  right = answers(product, {{"M", few}, {"N", many}, {"K", size}}) && right;
  if (settings.backend == "host")
    right = multiplies(product, static_cast<std::int32_t>(few), static_cast<std::int32_t>(many),
                       static_cast<std::int32_t>(size)) &&
            right;
  std::printf(right ? "right\n" : "WRONG\n");
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const xtune::Error& error) {
  std::fprintf(stderr, "gemm_by_shape: %s\n", error.what());
  return EXIT_FAILURE;
}

// Tunes y = a * x + y from code: the kernel as text, data in host vectors, the reference as a lambda.
//   saxpy [backend [directory for the result]]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "xtune/kernel.hpp"
#include "xtune/tune.hpp"

namespace {

const char* const source = R"(
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  const int first = blockIdx.x * BLOCK * UNROLL + threadIdx.x;
#pragma unroll
  for (int k = 0; k < UNROLL; ++k) {
    const int i = first + k * BLOCK;
    if (i < n) y[i] = a * x[i] + y[i];
  }
}
)";

xtune::Tunable saxpy(const std::vector<float>& x, const std::vector<float>& y, float a) {
  xtune::Tunable tunable("saxpy");
  tunable.source(source)
      .problem("N", x.size())
      .param("BLOCK", {64, 128, 256})
      .param("UNROLL", {1, 2, 4})
      .constraint("BLOCK * UNROLL <= 512")
      // The same in C++, for conditions that an expression cannot describe.
      .constraint({"BLOCK", "UNROLL"}, [](int block, int unroll) { return block * unroll >= 128; })
      .grid({"ceildiv(N, BLOCK * UNROLL)"})
      .block({"BLOCK"})
      .input("x", x, "N")
      .inout("y", y, "N")
      .scalar("a", a)
      .scalar("n", xtune::DType::i32, "N")
      .metric("GB_per_s", "12 * N / time_s / 1e9");
  // The kernel rounds once or twice, as its compiler likes, and the reference twice: the tolerance of f32 covers that.
  tunable.reference([a](const xtune::Arguments& arguments) {
    const auto in_x = arguments.input("x").as<float>(), in_y = arguments.input("y").as<float>();
    std::vector<float> result;
    for (std::size_t i = 0; i < in_x.size(); ++i) result.push_back(a * in_x[i] + in_y[i]);
    return result;
  });
  return tunable;
}

/// Calls the winner with this example's memory, which works only on the CPU; own_stream shows calls on GPUs.
bool call_winner(const xtune::Result& result, const std::vector<float>& x, std::vector<float> y, float a) {
  if (result.device.backend != "host") return true;
  const std::vector<float> before = y;
  const auto kernel = result.kernel<void(const float* x, float* y, float a, int n)>();
  kernel(nullptr, x.data(), y.data(), a, static_cast<int>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::abs(y[i] - (a * x[i] + before[i])) > 1e-3f) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<float> x(1 << 16), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 100);
    y[i] = static_cast<float>(i % 7);
  }
  xtune::TuneSettings settings;
  if (argc > 1) settings.backend = argv[1];
  settings.on_log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const xtune::Result result = xtune::tune(saxpy(x, y, 2.5f), settings);

  const xtune::Measurement& best = result.best();
  std::printf("saxpy on %s (%s)\n", result.device.name.c_str(), result.device.backend.c_str());
  for (const auto& [name, value] : best.config) std::printf("  %s = %s\n", name.c_str(), xtune::to_text(value).c_str());
  std::printf("  %.4f ms (%.4f .. %.4f), %.1f GB/s; %zu configurations, %zu as good\n", best.time_ms,
              best.timing.low_ms, best.timing.high_ms, best.metrics.at(0).second, result.measurements.size(),
              result.ties.size());

  // Now, and in another process later.
  const std::filesystem::path folder = argc > 2 ? argv[2] : "saxpy-tuned";
  result.save(folder);
  if (!call_winner(result, x, y, 2.5f) || !call_winner(xtune::Result::load(folder), x, y, 2.5f)) {
    std::fprintf(stderr, "saxpy: the winner computed something else\n");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
} catch (const xtune::Error& error) {
  std::fprintf(stderr, "saxpy: %s\n", error.what());
  return EXIT_FAILURE;
}

// A five-point stencil over a square grid, in tiles: the tile's size is set when it is compiled, threads when it runs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#ifndef TILE_ROWS
#error "set the tile: -DTILE_ROWS=16 -DTILE_COLUMNS=64"
#endif

namespace {

using Grid = std::vector<float>;

void sweep_tile(const Grid& from, Grid& to, int n, int row, int column) {
  const int last_row = std::min(row + TILE_ROWS, n - 1), last_column = std::min(column + TILE_COLUMNS, n - 1);
  for (int i = row; i < last_row; ++i)
    for (int j = column; j < last_column; ++j) {
      const std::size_t at = static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j);
      const auto line = static_cast<std::size_t>(n);
      to[at] = 0.5f * from[at] + 0.125f * (from[at - 1] + from[at + 1] + from[at - line] + from[at + line]);
    }
}

void sweep(const Grid& from, Grid& to, int n, int threads) {
  std::vector<std::thread> workers;
  for (int worker = 0; worker < threads; ++worker)
    workers.emplace_back([&, worker] {
      for (int row = 1 + worker * TILE_ROWS; row < n - 1; row += threads * TILE_ROWS)
        for (int column = 1; column < n - 1; column += TILE_COLUMNS) sweep_tile(from, to, n, row, column);
    });
  for (std::thread& worker : workers) worker.join();
}

int argument(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::atoi(argv[i + 1]);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argument(argc, argv, "--n", 1024), threads = argument(argc, argv, "--threads", 1);
  const int sweeps = argument(argc, argv, "--sweeps", 10);
  if (n < 3 || threads < 1) {
    std::fprintf(stderr, "--n must be at least 3 and --threads at least 1\n");
    return 2;
  }
  Grid a(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)), b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] = static_cast<float>(i % 7);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < sweeps; ++i) {
    sweep(a, b, n, threads);
    std::swap(a, b);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  double sum = 0;
  for (const float value : a) sum += value;
  // The borders stay, and the mean of neighbours keeps what lies between: about three a point.
  const double mean = sum / static_cast<double>(a.size());
  std::printf("mean %.3f: %s\n", mean, std::abs(mean - 3) < 0.1 ? "as it should be" : "wrong");
  const double gigabytes = 2.0 * sizeof(float) * static_cast<double>(a.size()) * sweeps * 1e-9;
  std::printf("{\"sweep\": {\"seconds\": %.9f}, \"bandwidth\": %.6f}\n", spent.count() / sweeps,
              gigabytes / spent.count());
  return 0;
}

// Times of kernels on the host backend with warm caches, and with caches emptied in three ways, in turns within one
// process; then the cost of each way. The table's times are first deciles in
// microseconds.
//
//   bench_cold_caches [rounds]
//
// memset: three times the last-level cache is overwritten by memset; stores: by ordinary stores, a byte of each line;
// lines: the lines that the kernel may touch are evicted, as the host backend does.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "backends/host/backend.hpp"
#include "backends/host/engine.hpp"
#include "core/measure/device.hpp"

namespace xtune::host {
namespace {

using Clock = std::chrono::steady_clock;
double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// A kernel k(const float* x, const float* y, float* z, int n).
struct Case {
  const char *name, *body;
  int n;
  std::array<std::size_t, 3> elements;
  device::Launch launch;
};

constexpr int side = 256;
const Case cases[] = {
    {"axpy, 32 KiB",
     "const int i = blockIdx.x * 256 + threadIdx.x; if (i < n) z[i] = 2 * x[i] + y[i];",
     2730,
     {2730, 2730, 2730},
     {{11, 1, 1}, {256, 1, 1}}},
    {"row sums, 8 MiB",
     "__shared__ float part[64]; float sum = 0;\n#pragma unroll 4\n"
     "for (int i = threadIdx.x; i < n; i += 64) sum += x[blockIdx.x * n + i];\n"
     "part[threadIdx.x] = sum;\n"
     "for (int half = 32; half > 0; half /= 2) {\n"
     "  __syncthreads(); if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half]; }\n"
     "if (threadIdx.x == 0) z[blockIdx.x] = part[0];",
     4096,
     {std::size_t{512} * 4096, 1, 512},
     {{512, 1, 1}, {64, 1, 1}}},
    {"axpy, 96 MiB",
     "const int i = blockIdx.x * 256 + threadIdx.x; if (i < n) z[i] = 2 * x[i] + y[i];",
     1 << 23,
     {1 << 23, 1 << 23, 1 << 23},
     {{1 << 15, 1, 1}, {256, 1, 1}}},
    {"stencil, 2 MiB",
     "const int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y + 1;\n"
     "if (c > 0 && c < n - 1) z[r * n + c] = 0.2f * (x[r * n + c] + x[r * n + c - 1] + x[r * n + c + 1]\n"
     "                                               + x[(r - 1) * n + c] + x[(r + 1) * n + c]);",
     512,
     {512 * 512, 1, 512 * 512},
     {{8, 510, 1}, {64, 1, 1}}},
    {"gemm 256^3",
     "const int r = blockIdx.y, c = (blockIdx.x * 16 + threadIdx.x) * 8; float s[8] = {};\n"
     "for (int k = 0; k < n; ++k) for (int j = 0; j < 8; ++j) s[j] += x[r * n + k] * y[k * n + c + j];\n"
     "for (int j = 0; j < 8; ++j) z[r * n + c + j] = s[j];",
     side,
     {side * side, side* side, side* side},
     {{2, side, 1}, {16, 1, 1}}},
    {"gather, 16 MiB",
     "const unsigned i = blockIdx.x * 64 + threadIdx.x; z[i] = x[i * 2654435761u % (unsigned)n];",
     1 << 22,
     {1 << 22, 1, 1 << 14},
     {{256, 1, 1}, {64, 1, 1}}},
    {"chain, 4 MiB",
     "const int* next = (const int*)x; int i = 0; for (int left = n; left > 0; --left) i = next[i]; z[0] = (float)i;",
     1 << 16,
     {1 << 20, 1, 1},
     {{1, 1, 1}, {1, 1, 1}}},
};

/// Each line begins with the index of another, so that one chain visits all; of a power of two of them.
void link_lines(std::vector<float>& memory) {
  constexpr std::size_t line = 64 / sizeof(float);
  const std::size_t lines = memory.size() / line;
  for (std::size_t i = 0; i < lines; ++i)
    memory[i * line] = std::bit_cast<float>(static_cast<int>((i * 25173 + 13849) % lines * line));
}

build::Artifact compile(const Case& one) {
  const std::unique_ptr<build::Toolchain> toolchain = make_toolchain();
  build::CompileRequest request;
  request.source_name = "kernel.cu";
  request.source = std::string("extern \"C\" __global__ void k(const float* x, const float* y, float* z, int n) {\n") +
                   one.body + "\n}\n";
  request.entry = "k";
  request.arch = toolchain->default_arch();
  return toolchain->compile(request);
}

/// Times of launches, and of the flushes before them, in microseconds.
struct Ways {
  std::array<std::vector<double>, 4> launches, flushes;
};

class Bench {
 public:
  Bench()
      : info_(cpu::cpu_info()),
        engine_(info_.shared_per_block_optin),
        bytes_(measure::flush_bytes(info_)),
        swept_(bytes_) {}

  std::size_t bytes() const { return bytes_; }
  Ways measure(const Case& one, int rounds) {
    const KernelLibrary library(compile(one), info_.arch);
    library.bind(Engine::services());
    std::array<std::vector<float>, 3> buffers;
    std::array<const void*, 3> pointers{};
    std::vector<std::span<const std::byte>> memory = library.memory();
    for (std::size_t i = 0; i < 3; ++i) {
      buffers[i].assign(one.elements[i], 1.0F);
      link_lines(buffers[i]);
      pointers[i] = buffers[i].data();
      memory.push_back(std::as_bytes(std::span(buffers[i])));
    }
    int n = one.n;
    void* const arguments[] = {&pointers[0], &pointers[1], &pointers[2], &n};
    // Each way ends with all of the engine's threads awake.
    const std::function<void()> ways[] = {
        [&] { engine_.overwrite(0); },
        [&] {
          sweep();
          engine_.overwrite(0);
        },
        [&] {
          engine_.overwrite(bytes_);
          engine_.overwrite(0);
        },
        [&] { engine_.flush(memory, bytes_); },
    };
    Ways taken;
    for (int round = -2; round < rounds; ++round)
      for (std::size_t way = 0; way < 4; ++way) {
        const auto start = Clock::now();
        ways[way]();
        const double flush_us = us_since(start);
        const double launch_us = engine_.launch(library.entry(0), one.launch, arguments) * 1000;
        if (round < 0) continue;
        taken.launches[way].push_back(launch_us);
        taken.flushes[way].push_back(flush_us);
      }
    return taken;
  }

 private:
  void sweep() {
    const std::size_t part = bytes_ / pool_.size();
    ++value_;
    pool_.run([&](unsigned worker) { std::memset(swept_.data() + worker * part, value_, part); });
  }

  device::DeviceInfo info_;
  Engine engine_;
  ThreadPool pool_{static_cast<unsigned>(info_.compute_units)};
  std::size_t bytes_;
  std::vector<char> swept_;
  char value_ = 0;
};

/// The first decile, since other programs only make a launch slower.
double low(std::vector<double> times) {
  const auto place = times.begin() + std::ssize(times) / 10;
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

int run(int rounds) {
  Bench bench;
  fmt::print("{} rounds; memset and stores overwrite {} MiB\n{:<18} {:>9} {:>9} {:>9} {:>9}   {:>12} {:>8}   {}\n",
             rounds, bench.bytes() >> 20, "kernel", "warm", "memset", "stores", "lines", "lines/stores", "/memset",
             "cost of memset, stores, lines");
  for (const Case& one : cases) {
    const Ways ways = bench.measure(one, rounds);
    std::array<double, 4> launch{}, flush{};
    for (std::size_t way = 0; way < 4; ++way) {
      launch[way] = low(ways.launches[way]);
      flush[way] = low(ways.flushes[way]);
    }
    fmt::print("{:<18} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}   {:>12.2f} {:>8.2f}   {:.0f}, {:.0f}, {:.0f}\n", one.name,
               launch[0], launch[1], launch[2], launch[3], launch[3] / launch[2], launch[3] / launch[1], flush[1],
               flush[2], flush[3]);
  }
  return 0;
}

}  // namespace
}  // namespace xtune::host

int main(int count, char** words) { return xtune::host::run(count > 1 ? std::max(1, std::atoi(words[1])) : 30); }

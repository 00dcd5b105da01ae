// Kernels in HIP C++, compiled for each architecture, against the same computed on the CPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "emulator/tests/built.hpp"

using namespace xtune::test;
namespace emulator = xtune::emulator;

namespace {

const std::string sources = R"(
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = block_x * block_size_x + thread_x;
  if (i < n) z[i] = x[i] + y[i];
}

extern "C" __global__ void total(const float* x, float* sum, int n) {
  __shared__ float part[8];
  float mine = 0;
  for (int i = thread_x; i < n; i += 256) mine += x[i];
  for (int bit = 16; bit > 0; bit /= 2) {
    const int lane = __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0));
    mine += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((lane ^ bit) * 4, __builtin_bit_cast(int, mine)));
  }
  if (thread_x % 32 == 0) part[thread_x / 32] = mine;
  sync_threads();
  if (thread_x == 0) {
    for (int i = 1; i < 8; ++i) mine += part[i];
    *sum = mine;
  }
}

extern "C" __global__ void across(const int* x, int* taken, int* given) {
  const int address = (thread_x + 33) % 64 * 4;
  taken[thread_x] = __builtin_amdgcn_ds_bpermute(address, x[thread_x]);
  given[thread_x] = __builtin_amdgcn_ds_permute(address, x[thread_x]);
}

extern "C" __global__ void turn(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[16][17];
  const int column = block_x * 16 + thread_x, row = block_y * 16 + thread_y;
  if (row < rows && column < columns) tile[thread_y][thread_x] = x[row * columns + column];
  sync_threads();
  const int to_row = block_x * 16 + thread_y, to_column = block_y * 16 + thread_x;
  if (to_row < columns && to_column < rows) y[to_row * rows + to_column] = tile[thread_x][thread_y];
}

extern "C" __global__ void count(const unsigned char* keys, unsigned* bins, int n) {
  __shared__ unsigned own[64];
  if (thread_x < 64) own[thread_x] = 0;
  sync_threads();
  for (int i = block_x * block_size_x + thread_x; i < n; i += 2 * block_size_x)
    __atomic_fetch_add(&own[keys[i] / 4], 1u, __ATOMIC_RELAXED);
  sync_threads();
  if (thread_x < 64) __atomic_fetch_add(&bins[thread_x], own[thread_x], __ATOMIC_RELAXED);
}

extern "C" __global__ void meet(volatile unsigned* flags, unsigned* order) {
  flags[block_x] = 1;
  while (flags[1 - block_x] == 0) {}
  if (thread_x == 0) order[block_x] = flags[0] + flags[1];
}

extern "C" __global__ void divide(const float* x, const float* y, float* quotient, float* root, double* wide) {
  quotient[thread_x] = x[thread_x] / y[thread_x];
  root[thread_x] = __builtin_sqrtf(x[thread_x]);
  wide[thread_x] = (double)x[thread_x] / y[thread_x];
}

extern "C" __global__ void through_stack(const int* x, int* y, int n) {
  volatile int local[40];
  for (int i = 0; i < 40; ++i) local[i] = x[thread_x] * i;
  y[thread_x] = local[n % 40] + local[(n + 7) % 40];
}

#if defined(__gfx90a__) || defined(__gfx942__)
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
extern "C" __global__ void tile_product(const _Float16* a, const _Float16* b, float* c) {
  const int lane = thread_x;
  half4 left, right;
  for (int e = 0; e < 4; ++e) {
    left[e] = a[lane % 16 * 16 + lane / 16 * 4 + e];
    right[e] = b[(lane / 16 * 4 + e) * 16 + lane % 16];
  }
  const float4v sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, float4v{0, 0, 0, 0}, 0, 0, 0);
  for (int i = 0; i < 4; ++i) c[(lane / 16 * 4 + i) * 16 + lane % 16] = sum[i];
}
#elif defined(__gfx1100__)
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __global__ void tile_product(const _Float16* a, const _Float16* b, float* c) {
  const int lane = thread_x;
  half16 left, right;
  for (int e = 0; e < 16; ++e) {
    left[e] = a[lane % 16 * 16 + e];
    right[e] = b[e * 16 + lane % 16];
  }
  const float8 sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left, right, float8{});
  for (int i = 0; i < 8; ++i) c[(2 * i + lane / 16) * 16 + lane % 16] = sum[i];
}
#elif defined(__gfx1201__)
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __global__ void tile_product(const _Float16* a, const _Float16* b, float* c) {
  const int lane = thread_x;
  half8 left, right;
  for (int e = 0; e < 8; ++e) {
    left[e] = a[lane % 16 * 16 + lane / 16 * 8 + e];
    right[e] = b[(lane / 16 * 8 + e) * 16 + lane % 16];
  }
  const float8 sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(left, right, float8{});
  for (int i = 0; i < 8; ++i) c[(i + lane / 16 * 8) * 16 + lane % 16] = sum[i];
}
#endif
)";

/// The code objects of all architectures, built once.
const emulator::Program& program_for(const std::string& arch) {
  static std::map<std::string, emulator::Program> programs;
  auto found = programs.find(arch);
  if (found == programs.end())
    found = programs.emplace(arch, emulator::Program::load(compile_hip(sources, arch), arch)).first;
  return found->second;
}

emulator::Launch launch_of(const std::string& kernel, std::array<std::uint32_t, 3> grid,
                           std::array<std::uint32_t, 3> block) {
  emulator::Launch launch;
  launch.kernel = kernel;
  launch.grid = grid;
  launch.block = block;
  return launch;
}

}  // namespace

TEST_CASE("Vectors are added, with a workgroup that the vectors do not fill") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    std::vector<float> x = small_integers(1000, 1), y = small_integers(1000, 2), z(1000, -99);
    const emulator::Report report =
        run(program_for(arch), launch_of("add", {4, 1, 1}, {256, 1, 1}), Arguments().add(x).add(y).add(z).add(1000));
    std::vector<float> expected(1000);
    std::transform(x.begin(), x.end(), y.begin(), expected.begin(), std::plus<>());
    CHECK(z == expected);
    CHECK(report.workgroups == 4);
    CHECK(report.waves == (has_waves_of_64(arch) ? 16 : 32));
    CHECK(report.global_bytes_written == 4000);
  }
}

TEST_CASE("A part of the workgroups computes its part of the result") {
  if (!can_emulate()) return;
  std::vector<float> x = small_integers(1024, 1), y = small_integers(1024, 2), z(1024, -99);
  emulator::Launch launch = launch_of("add", {4, 1, 1}, {256, 1, 1});
  launch.first_group = 1;
  launch.groups = 2;
  run(program_for("gfx942"), launch, Arguments().add(x).add(y).add(z).add(1024));
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i] == (i / 256 == 1 || i / 256 == 2 ? x[i] + y[i] : -99));
}

TEST_CASE("A sum goes through shuffles, LDS and a barrier") {
  if (!can_emulate()) return;
  for (const std::string& arch : archs_with_rdna2) {
    CAPTURE(arch);
    std::vector<float> x = small_integers(3001, 3), sum(1);
    run(program_for(arch), launch_of("total", {1, 1, 1}, {256, 1, 1}), Arguments().add(x).add(sum).add(3001));
    CHECK(sum[0] == std::accumulate(x.begin(), x.end(), 0.0f));
  }
}

TEST_CASE("RDNA runs the same source in waves of 64") {
  if (!can_emulate()) return;
  for (const std::string arch : {"gfx1030", "gfx1100", "gfx1201"}) {
    CAPTURE(arch);
    // Without the matrix instruction, whose builtin is for waves of 32.
    const std::string source = sources.substr(0, sources.find("#if defined"));
    const emulator::Program program = emulator::Program::load(compile_hip(source, arch, {"-mwavefrontsize64"}), arch);
    std::vector<float> x = small_integers(3001, 3), sum(1);
    const emulator::Report report =
        run(program, launch_of("total", {1, 1, 1}, {256, 1, 1}), Arguments().add(x).add(sum).add(3001));
    CHECK(sum[0] == std::accumulate(x.begin(), x.end(), 0.0f));
    CHECK(report.waves == 4);
    // Permutations by addresses stay in each half of a wave of RDNA2 and RDNA3.
    std::vector<int> numbers(64), taken(64), given(64);
    std::iota(numbers.begin(), numbers.end(), 100);
    run(program, launch_of("across", {1, 1, 1}, {64, 1, 1}), Arguments().add(numbers).add(taken).add(given));
    const bool halves = arch != "gfx1201";
    for (int lane = 0; lane < 64; ++lane) {
      const auto other = static_cast<unsigned>(halves ? (lane & 32) | ((lane + 33) & 31) : (lane + 33) % 64);
      CHECK(taken[static_cast<unsigned>(lane)] == 100 + static_cast<int>(other));
      CHECK(given[other] == 100 + lane);
    }
  }
}

TEST_CASE("A matrix is transposed through LDS, by blocks of two dimensions") {
  if (!can_emulate()) return;
  constexpr int rows = 37, columns = 50;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    std::vector<float> x(rows * columns), y(rows * columns, -1);
    std::iota(x.begin(), x.end(), 0.0f);
    run(program_for(arch), launch_of("turn", {4, 3, 1}, {16, 16, 1}), Arguments().add(x).add(y).add(rows).add(columns));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        REQUIRE(y[static_cast<unsigned>(j * rows + i)] == x[static_cast<unsigned>(i * columns + j)]);
  }
}

TEST_CASE("A histogram is counted by atomic updates of LDS and global memory") {
  if (!can_emulate()) return;
  for (const std::string& arch : archs_with_rdna2) {
    CAPTURE(arch);
    std::vector<unsigned char> keys(5003);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<unsigned char>(i * i >> 3);
    std::vector<unsigned> bins(64), expected(64);
    for (const unsigned char key : keys) ++expected[key / 4];
    run(program_for(arch), launch_of("count", {2, 1, 1}, {128, 1, 1}), Arguments().add(keys).add(bins).add(5003));
    CHECK(bins == expected);
  }
}

TEST_CASE("Workgroups that wait for each other both end") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    std::vector<unsigned> flags(2), order(2);
    run(program_for(arch), launch_of("meet", {2, 1, 1}, {64, 1, 1}), Arguments().add(flags).add(order));
    CHECK(order == std::vector<unsigned>{2, 2});
  }
}

TEST_CASE("Divisions and roots are rounded as IEEE 754 has it, also of denormals and infinities") {
  if (!can_emulate()) return;
  const std::vector<float> numbers = {0.0f,      -0.0f, 1.0f, -3.0f, 1e-40f, 1e38f,       3e-38f, INFINITY,
                                      -INFINITY, NAN,   7.0f, 0.1f,  1e-45f, 16777215.0f, 2e-20f, 5e19f};
  for (const std::string& arch : archs_with_rdna2) {
    CAPTURE(arch);
    std::vector<float> x, y;
    for (const float a : numbers)
      for (const float b : numbers) {
        x.push_back(a);
        y.push_back(b);
      }
    std::vector<float> quotient(x.size()), root(x.size());
    std::vector<double> wide(x.size());
    run(program_for(arch), launch_of("divide", {1, 1, 1}, {256, 1, 1}),
        Arguments().add(x).add(y).add(quotient).add(root).add(wide));
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      CAPTURE(y[i]);
      const auto same = [](auto found, auto expected) {
        return (std::isnan(found) && std::isnan(expected)) ||
               (found == expected && std::signbit(found) == std::signbit(expected));
      };
      CHECK_MESSAGE(same(quotient[i], x[i] / y[i]), quotient[i] << " is not " << x[i] / y[i]);
      CHECK_MESSAGE(same(wide[i], double{x[i]} / y[i]), wide[i] << " is not " << double{x[i]} / y[i]);
      CHECK_MESSAGE(same(root[i], std::sqrt(x[i])), root[i] << " is not " << std::sqrt(x[i]));
    }
  }
}

TEST_CASE("An array of a thread lies in scratch memory") {
  if (!can_emulate()) return;
  for (const std::string& arch : archs_with_rdna2) {
    CAPTURE(arch);
    std::vector<int> x(64), y(64);
    std::iota(x.begin(), x.end(), -20);
    run(program_for(arch), launch_of("through_stack", {1, 1, 1}, {64, 1, 1}), Arguments().add(x).add(y).add(39));
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == x[i] * 39 + x[i] * 6);
  }
}

TEST_CASE("Matrix instructions multiply a tile exactly") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const std::vector<float> a = small_integers(256, 5), b = small_integers(256, 6);
    std::vector<std::uint16_t> half_a = halves_of(a), half_b = halves_of(b);
    std::vector<float> c(256);
    const std::uint32_t lanes = has_waves_of_64(arch) ? 64 : 32;
    const emulator::Report report = run(program_for(arch), launch_of("tile_product", {1, 1, 1}, {lanes, 1, 1}),
                                        Arguments().add(half_a).add(half_b).add(c));
    CHECK(report.of_kind[static_cast<unsigned>(emulator::Kind::matrix)] == 1);
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 16; ++j) {
        float sum = 0;
        for (unsigned k = 0; k < 16; ++k) sum += a[i * 16 + k] * b[k * 16 + j];
        REQUIRE(c[i * 16 + j] == sum);
      }
  }
}

TEST_CASE("kernels/gemm multiplies a tile of 64 x 64 x 32 in f32") {
  if (!can_emulate()) return;
  if (!has_hip()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const emulator::Program program =
        compile_kernel("gemm/gemm.cu", arch,
                       "TENSOR_CORES=0 BLOCK_M=64 BLOCK_N=64 BLOCK_K=32 THREAD_M=8 THREAD_N=8 K_UNROLL=8 FRAGMENTS=2 "
                       "K_GROUPS=1 VECTOR=4 STAGES=2 PAD=1 MIN_BLOCKS=1");
    CHECK(program.unknown_instructions().empty());
    std::vector<float> a = small_integers(64 * 32, 7), b = small_integers(32 * 64, 8), c(64 * 64, -1);
    emulator::Launch launch = launch_of("gemm", {1, 1, 1}, {64, 1, 1});
    launch.dynamic_lds = 2 * 32 * (64 + 4 + 64) * 4;
    run(program, launch, Arguments().add(a).add(b).add(c).add(64).add(64).add(32).add(0));
    for (unsigned i = 0; i < 64; ++i)
      for (unsigned j = 0; j < 64; ++j) {
        float sum = 0;
        for (unsigned k = 0; k < 32; ++k) sum += a[i * 32 + k] * b[k * 64 + j];
        REQUIRE(c[i * 64 + j] == sum);
      }
  }
}

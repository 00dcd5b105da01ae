// kernels/gemm on matrix cores: its code for each architecture against sums computed on the CPU.
#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "emulator/tests/built.hpp"

using namespace xtune::test;
namespace emulator = xtune::emulator;

namespace {

struct MatrixGemm {
  std::string arch, type;  ///< as in the macros INPUT_...; empty: f32
  int instruction, block_m, block_n, block_k, thread_m, thread_n, k_groups, vector, stages, direct;
};

struct MatrixSize {
  int m, n, k;
};

int bytes_of(const MatrixGemm& gemm) { return gemm.type.empty() ? 4 : gemm.type == "F8" ? 1 : 2; }

std::string defines_of(const MatrixGemm& gemm) {
  const auto define = [](const char* name, int value) { return std::string(name) + "=" + std::to_string(value) + " "; };
  return (gemm.type.empty() ? "" : "INPUT_" + gemm.type + "=1 ") + "TENSOR_CORES=1 PAD=1 MIN_BLOCKS=1 K_UNROLL=1 " +
         "FRAGMENTS=1 " + define("INSTRUCTION", gemm.instruction) + define("BLOCK_M", gemm.block_m) +
         define("BLOCK_N", gemm.block_n) + define("BLOCK_K", gemm.block_k) + define("THREAD_M", gemm.thread_m) +
         define("THREAD_N", gemm.thread_n) + define("K_GROUPS", gemm.k_groups) + define("VECTOR", gemm.vector) +
         define("STAGES", gemm.stages) + define("DIRECT", gemm.direct);
}

/// The numbers in the type of the kernel's inputs. Zeros are negative in turn: CDNA3's f8 has no such zero.
std::vector<std::byte> stored_as(const MatrixGemm& gemm, const std::vector<float>& values) {
  const std::map<int, std::uint8_t> f8 = {{0, 0x00}, {1, 0x38}, {2, 0x40}, {3, 0x44}, {4, 0x48}};
  std::vector<std::byte> bytes;
  const auto add = [&](auto code) {
    const auto* const from = reinterpret_cast<const std::byte*>(&code);
    bytes.insert(bytes.end(), from, from + sizeof code);
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i] == 0 && i % 2 == 0 ? -0.0f : values[i];
    const auto word = std::bit_cast<std::uint32_t>(value);
    if (gemm.type.empty())
      add(value);
    else if (gemm.type == "F16")
      add(emulator::half_from(value).bits);
    else if (gemm.type == "BF16")
      add(static_cast<std::uint16_t>(word >> 16));
    else
      add(static_cast<std::uint8_t>(f8.at(static_cast<int>(std::fabs(value))) | (word >> 31 << 7)));
  }
  return bytes;
}

emulator::Report multiply(const emulator::Program& program, const MatrixGemm& gemm, const MatrixSize& size,
                          std::vector<std::byte>& a, std::vector<std::byte>& b, std::vector<float>& c) {
  emulator::Launch launch;
  launch.kernel = "gemm";
  const auto tiles = [](int extent, int tile) { return static_cast<std::uint32_t>((extent + tile - 1) / tile); };
  launch.grid = {tiles(size.m, gemm.block_m) * tiles(size.n, gemm.block_n), 1, 1};
  const int threads = gemm.block_m * gemm.block_n / (gemm.thread_m * gemm.thread_n) * gemm.k_groups;
  launch.block = {static_cast<std::uint32_t>(threads), 1, 1};
  const int tile_bytes = gemm.stages * gemm.block_k * (gemm.block_m + gemm.block_n) * bytes_of(gemm);
  launch.dynamic_lds =
      static_cast<std::uint32_t>(std::max(tile_bytes, gemm.k_groups > 1 ? gemm.block_m * gemm.block_n * 4 : 0));
  return run(program, launch, Arguments().add(a).add(b).add(c).add(size.m).add(size.n).add(size.k).add(2));
}

void check_product(const emulator::Program& program, const MatrixGemm& gemm, const MatrixSize& size) {
  const auto m = static_cast<unsigned>(size.m), n = static_cast<unsigned>(size.n), k = static_cast<unsigned>(size.k);
  const std::vector<float> a = small_integers(m * k, 7), b = small_integers(k * n, 8);
  std::vector<std::byte> stored_a = stored_as(gemm, a), stored_b = stored_as(gemm, b);
  std::vector<float> c(m * n, -1);
  const emulator::Report report = multiply(program, gemm, size, stored_a, stored_b, c);
  CHECK(report.of_kind[static_cast<unsigned>(emulator::Kind::matrix)] > 0);
  // With packs of 16 bytes, neither writes nor reads of the tiles have conflicts.
  if (gemm.type == "F16") CHECK(report.lds_conflicts == 0);
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      float sum = 0;
      for (unsigned x = 0; x < k; ++x) sum += a[i * k + x] * b[x * n + j];
      REQUIRE_MESSAGE(c[i * n + j] == sum, "row " << i << ", column " << j);
    }
}

// Each type that an architecture's matrix cores have, each size of an instruction, and each way to fill shared memory.
const std::vector<MatrixGemm> matrix_gemms = {
    {"gfx90a", "F16", 16, 64, 64, 32, 4, 4, 1, 8, 2, 0},  {"gfx90a", "BF16", 32, 64, 64, 32, 8, 4, 2, 4, 1, 0},
    {"gfx90a", "", 32, 64, 64, 16, 8, 8, 1, 4, 2, 0},     {"gfx942", "F16", 32, 64, 64, 64, 4, 4, 1, 8, 2, 1},
    {"gfx942", "BF16", 16, 32, 64, 32, 4, 4, 1, 1, 1, 0}, {"gfx942", "F8", 16, 64, 64, 64, 4, 4, 1, 16, 2, 0},
    {"gfx942", "F8", 32, 64, 32, 32, 4, 4, 1, 4, 3, 0},   {"gfx942", "", 16, 64, 64, 32, 8, 4, 2, 4, 3, 1},
    {"gfx1100", "F16", 16, 32, 64, 32, 4, 4, 1, 8, 2, 0}, {"gfx1100", "BF16", 16, 32, 32, 32, 4, 4, 2, 2, 1, 0},
    {"gfx1201", "F16", 16, 32, 64, 32, 4, 4, 1, 8, 2, 0}, {"gfx1201", "BF16", 16, 32, 32, 32, 8, 4, 2, 4, 3, 0},
    {"gfx1201", "F8", 16, 32, 64, 32, 4, 4, 1, 4, 2, 0},
};

}  // namespace

TEST_CASE("kernels/gemm on matrix cores is right for sizes that suit the tiles, and for those that suit nothing") {
  if (!can_emulate() || !has_hip()) return;
  for (const MatrixGemm& gemm : matrix_gemms) {
    CAPTURE(gemm.arch);
    CAPTURE(defines_of(gemm));
    const emulator::Program program = compile_kernel("gemm/gemm.cu", gemm.arch, defines_of(gemm));
    CHECK(program.unknown_instructions().empty());
    for (const MatrixSize& size : {MatrixSize{70, 83, 45}, MatrixSize{64, 64, 128}, MatrixSize{72, 48, 80}})
      check_product(program, gemm, size);
  }
}

TEST_CASE("kernels/gemm on matrix cores keeps NaN and the extreme numbers of f8e4m3") {
  if (!can_emulate() || !has_hip()) return;
  for (const char* arch : {"gfx942", "gfx1201"}) {
    CAPTURE(arch);
    const MatrixGemm gemm = {arch, "F8", 16, 32, 32, 64, 4, 4, 1, 16, 1, 0};
    const emulator::Program program = compile_kernel("gemm/gemm.cu", arch, defines_of(gemm));
    // A row of A for each code, with one element in it; B is 1 where it counts.
    constexpr unsigned k = 32, n = 16;
    std::vector<std::byte> a(256 * k), b(k * n);
    for (unsigned code = 0; code < 256; ++code) a[code * k + code % k] = static_cast<std::byte>(code);
    for (std::byte& each : b) each = std::byte{0x38};
    std::vector<float> c(256 * n, -1);
    multiply(program, gemm, {256, n, k}, a, b, c);
    for (unsigned code = 0; code < 256; ++code) {
      const int exponent = static_cast<int>(code >> 3 & 15), fraction = static_cast<int>(code & 7);
      const double size = std::ldexp(exponent == 0 ? fraction : 8 + fraction, std::max(exponent, 1) - 10);
      const double expected = (code & 0x7f) == 0x7f ? NAN : code & 0x80 ? -size : size;
      for (unsigned j = 0; j < n; ++j) {
        const float found = c[code * n + j];
        CHECK_MESSAGE((std::isnan(expected) ? std::isnan(found) : found == expected),
                      "code " << code << ": " << found << " is not " << expected);
      }
    }
  }
}

// Matrix instructions on numbers of 8 bits, and loads to LDS, against the formulas of AMD's documents.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "emulator/half.hpp"
#include "emulator/tests/snippet.hpp"

using namespace xtune::test;
namespace emulator = xtune::emulator;

namespace {

/// How the documents define a number of 8 bits: sign, exponent, mantissa, and what the bias is.
struct Form {
  int mantissa, bias;
  bool fnuz;  ///< 0x80 is the only NaN, and nothing is infinite
};
constexpr Form cdna_fp8{3, 8, true}, cdna_bf8{2, 16, true}, rdna_fp8{3, 7, false}, rdna_bf8{2, 15, false};

double number_of(unsigned code, const Form& form) {
  const unsigned exponent = (code & 0x7f) >> form.mantissa, fraction = code & ((1u << form.mantissa) - 1);
  const double sign = code & 0x80 ? -1 : 1, part = fraction / std::pow(2.0, form.mantissa);
  if (form.fnuz ? code == 0x80 : form.mantissa == 3 ? (code & 0x7f) == 0x7f : exponent == 31 && fraction != 0)
    return NAN;
  if (!form.fnuz && form.mantissa == 2 && exponent == 31) return sign * INFINITY;
  return exponent == 0 ? sign * part * std::pow(2.0, 1 - form.bias)
                       : sign * (1 + part) * std::pow(2.0, static_cast<int>(exponent) - form.bias);
}

/// An instruction with A in v[0:1] and B in v[2:3]. Its results are in v[8:] where C is 0, and four of them are shown.
struct MatrixCase {
  std::string arch, name;
  int size, lanes;
  Form a, b;
};

/// Row of the result in the register, as the documents' tables have it; its column is lane % size.
int result_row(const MatrixCase& one, int place, int lane) {
  if (one.lanes == 32) return place + lane / 16 * 8;
  return one.size == 16 ? place + lane / 16 * 4 : place % 4 + place / 4 * 8 + lane / 32 * 4;
}

unsigned byte_of(const std::vector<Words>& inputs, int lane, int first_word, int k) {
  return inputs[static_cast<unsigned>(lane)][static_cast<unsigned>(first_word + k / 4)] >> (k % 4 * 8) & 255;
}

void check_matrix(const MatrixCase& one) {
  const int results = one.size * one.size / one.lanes, groups = one.lanes / one.size;
  const std::string last = std::to_string(8 + results - 1);
  std::string text;
  for (int first = 0; first < results; first += 4) {
    std::string body = one.name + " v[8:" + last + "], v[0:1], v[2:3], 0\ns_nop 15\n";
    for (int i = 0; i < 4; ++i)
      body += "v_mov_b32 v" + std::to_string(4 + i) + ", v" + std::to_string(8 + first + i) + "\n";
    text += snippet_kernel("from_" + std::to_string(first), body, one.arch);
  }
  const emulator::Program program = emulator::Program::load(assemble(text, one.arch), one.arch);
  // Codes of all kinds; in the first lanes also infinity and NaN.
  std::vector<Words> inputs(static_cast<std::size_t>(one.lanes));
  std::uint32_t seed = 5;
  for (Words& words : inputs)
    for (std::uint32_t& word : words) {
      seed = seed * 1664525 + 1013904223;
      word = (seed ^ seed >> 15) & 0xdbdbdbdbu;
    }
  inputs[1][0] = 0x80017f08;
  inputs[2][2] = 0x007c8000;
  for (int first = 0; first < results; first += 4) {
    const std::vector<Words> found = run_snippet(program, "from_" + std::to_string(first), one.arch, inputs);
    for (int lane = 0; lane < one.lanes; ++lane)
      for (int i = 0; i < 4; ++i) {
        const int row = result_row(one, first + i, lane), column = lane % one.size;
        double sum = 0, sizes = 0;
        for (int group = 0; group < groups; ++group)
          for (int k = 0; k < 8; ++k) {
            const double a = number_of(byte_of(inputs, row + group * one.size, 0, k), one.a),
                         b = number_of(byte_of(inputs, column + group * one.size, 2, k), one.b);
            sum += a * b;
            sizes += std::fabs(a * b);
          }
        const float result = std::bit_cast<float>(found[static_cast<unsigned>(lane)][static_cast<unsigned>(i)]);
        const bool right =
            std::isfinite(sum) ? std::fabs(result - sum) <= sizes * 0x1p-20 : std::isnan(sum) == std::isnan(result);
        CHECK_MESSAGE(right,
                      one.name << " lane " << lane << " result " << first + i << ": " << result << " is not " << sum);
      }
  }
}

}  // namespace

TEST_CASE("Matrix instructions on numbers of 8 bits multiply what AMD's documents say") {
  if (!can_emulate()) return;
  for (const MatrixCase& one :
       std::vector<MatrixCase>{{"gfx942", "v_mfma_f32_16x16x32_fp8_fp8", 16, 64, cdna_fp8, cdna_fp8},
                               {"gfx942", "v_mfma_f32_16x16x32_fp8_bf8", 16, 64, cdna_fp8, cdna_bf8},
                               {"gfx942", "v_mfma_f32_16x16x32_bf8_fp8", 16, 64, cdna_bf8, cdna_fp8},
                               {"gfx942", "v_mfma_f32_16x16x32_bf8_bf8", 16, 64, cdna_bf8, cdna_bf8},
                               {"gfx942", "v_mfma_f32_32x32x16_fp8_fp8", 32, 64, cdna_fp8, cdna_fp8},
                               {"gfx942", "v_mfma_f32_32x32x16_bf8_fp8", 32, 64, cdna_bf8, cdna_fp8},
                               {"gfx942", "v_mfma_f32_32x32x16_fp8_bf8", 32, 64, cdna_fp8, cdna_bf8},
                               {"gfx942", "v_mfma_f32_32x32x16_bf8_bf8", 32, 64, cdna_bf8, cdna_bf8},
                               {"gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", 16, 32, rdna_fp8, rdna_fp8},
                               {"gfx1201", "v_wmma_f32_16x16x16_fp8_bf8", 16, 32, rdna_fp8, rdna_bf8},
                               {"gfx1201", "v_wmma_f32_16x16x16_bf8_fp8", 16, 32, rdna_bf8, rdna_fp8},
                               {"gfx1201", "v_wmma_f32_16x16x16_bf8_bf8", 16, 32, rdna_bf8, rdna_bf8}})
    check_matrix(one);
}

namespace {

/// Four words of registers for each lane, from v[first] on, after the instructions.
std::vector<Words> words_after(const std::string& code, int first, const std::string& arch,
                               const std::vector<Words>& inputs) {
  std::string body = code + "\ns_nop 15\n";
  for (int i = 0; i < 4; ++i) body += "v_mov_b32 v" + std::to_string(4 + i) + ", v" + std::to_string(first + i) + "\n";
  return run_snippet(emulator::Program::load(assemble(snippet_kernel("matrix", body, arch), arch), arch), "matrix",
                     arch, inputs);
}

double double_of(std::uint32_t low, std::uint32_t high) {
  return std::bit_cast<double>(low | std::uint64_t{high} << 32);
}

/// Numbers in A's and B's places whose products need the bits of f64.
std::vector<Words> doubles_for_lanes() {
  std::vector<Words> inputs(64);
  for (std::size_t lane = 0; lane < 64; ++lane)
    for (const std::size_t first : {0u, 2u}) {
      const auto bits =
          std::bit_cast<std::uint64_t>(static_cast<double>(lane * 7 % 23) + (first == 0 ? 0x1p-30 : -0.5));
      inputs[lane][first] = static_cast<std::uint32_t>(bits);
      inputs[lane][first + 1] = static_cast<std::uint32_t>(bits >> 32);
    }
  return inputs;
}

/// The element of a row of A, or of a column of B, that 16 lanes have a half or a whole of, from v0 to v3.
double short_element(const std::vector<Words>& inputs, const std::string& arch, bool is_bf16, int row, int k) {
  const bool halves = arch == "gfx1201";
  const int word = halves ? k % 8 / 2 : (k / 2 + (k < 8 ? 0 : 1)) % 4;
  const std::uint32_t both =
      inputs[static_cast<unsigned>(row + (halves ? k / 8 * 16 : 0))][static_cast<unsigned>(word)];
  const auto bits = static_cast<std::uint16_t>(both >> (k % 2 * 16));
  return is_bf16 ? double{emulator::from_bf16(bits)} : emulator::to_double(emulator::Half{bits});
}

/// Small integers as numbers of 16 bits, which lanes 16 to 31 repeat on RDNA3.
std::vector<Words> short_inputs(const std::string& arch, bool is_bf16) {
  std::vector<Words> inputs(32);
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t of_lane = arch == "gfx1100" ? lane % 16 : lane;
      const auto number = static_cast<float>(static_cast<int>((of_lane * 5 + i * 3) % 7) - 3);
      const std::uint16_t bits = is_bf16 ? emulator::bf16_from(number) : emulator::half_from(double{number}).bits;
      inputs[lane][i / 2] |= std::uint32_t{bits} << (i % 2 * 16);
    }
  return inputs;
}

/// The product of the inputs with themselves, added to 1 in v[32:39].
std::string short_product(const std::string& arch, bool is_bf16, bool high) {
  std::string code;
  for (int i = 0; i < 8; ++i)
    code += "v_mov_b32 v" + std::to_string(8 + i) + ", v" + std::to_string(i < 4 ? i : (i + 1) % 4) + "\nv_mov_b32 v" +
            std::to_string(32 + i) + ", " + (is_bf16 ? "0x3f803f80" : "0x3c003c00") + "\n";
  const std::string name = is_bf16 ? "v_wmma_bf16_16x16x16_bf16 " : "v_wmma_f16_16x16x16_f16 ";
  if (arch == "gfx1201") return code + name + "v[32:35], v[8:11], v[8:11], v[32:35]";
  return code + name + "v[32:39], v[8:15], v[8:15], v[32:39]" + (high ? " op_sel:[0,0,1]" : "");
}

void check_short_product(const std::string& arch, bool is_bf16, bool high, int first) {
  const std::vector<Words> inputs = short_inputs(arch, is_bf16);
  const std::vector<Words> found = words_after(short_product(arch, is_bf16, high), 32 + first, arch, inputs);
  const bool packed = arch == "gfx1201";
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 8; ++i) {
      const int part = packed ? i : first + i / 2;
      const int row = packed ? part + lane / 16 * 8 : 2 * part + lane / 16;
      double expected = 1;
      // RDNA3 leaves the other half of a register as it is.
      if (packed || (i % 2 == 1) == high)
        for (int k = 0; k < 16; ++k)
          expected += short_element(inputs, arch, is_bf16, row, k) * short_element(inputs, arch, is_bf16, lane % 16, k);
      const auto bits =
          static_cast<std::uint16_t>(found[static_cast<unsigned>(lane)][static_cast<unsigned>(i / 2)] >> (i % 2 * 16));
      const double result = is_bf16 ? double{emulator::from_bf16(bits)} : emulator::to_double(emulator::Half{bits});
      CHECK_MESSAGE(result == expected, "lane " << lane << ", result " << part);
    }
}

}  // namespace

TEST_CASE("Matrix instructions on f64 multiply what AMD's documents say, and keep its precision") {
  if (!can_emulate()) return;
  const std::vector<Words> inputs = doubles_for_lanes();
  const auto number = [&](int lane, unsigned first) {
    const Words& words = inputs[static_cast<unsigned>(lane)];
    return double_of(words[first], words[first + 1]);
  };
  for (const std::string arch : {"gfx90a", "gfx942"})
    for (const int size : {16, 4})
      for (int part = 0; part < (size == 16 ? 4 : 1); part += 2) {
        const std::string name = std::string("v_mfma_f64_") + (size == 16 ? "16x16x4" : "4x4x4") +
                                 (arch == "gfx90a" ? "f64"
                                  : size == 16     ? "_f64"
                                                   : "_4b_f64");
        const std::string registers = size == 16 ? "v[8:15]" : "v[8:9]";
        const std::vector<Words> found =
            words_after(name + " " + registers + ", v[0:1], v[2:3], 1.0", 8 + 2 * part, arch, inputs);
        for (int lane = 0; lane < 64; ++lane)
          for (int i = 0; i < (size == 16 ? 2 : 1); ++i) {
            const int block = size == 4 ? lane % 16 / 4 * 4 : 0, row = (part + i) * 4 + lane / 16;
            double expected = 1;
            for (int k = 0; k < 4; ++k)
              expected = std::fma(number(16 * k + block + row, 0), number(16 * k + block + lane % size, 2), expected);
            const Words& words = found[static_cast<unsigned>(lane)];
            CAPTURE(name);
            CHECK(double_of(words[static_cast<unsigned>(2 * i)], words[static_cast<unsigned>(2 * i + 1)]) == expected);
          }
      }
}

TEST_CASE("Matrix instructions with results of 16 bits are right, and leave the other half of a register") {
  if (!can_emulate()) return;
  for (const bool is_bf16 : {false, true}) {
    CAPTURE(is_bf16);
    check_short_product("gfx1201", is_bf16, false, 0);
    for (const bool high : {false, true})
      for (const int first : {0, 4}) check_short_product("gfx1100", is_bf16, high, first);
  }
}

namespace {

/// v0 of each lane, by way of LDS from byte 64 on: lane 0's is where M0 and the offset say, others' 4 bytes further
/// each.
std::string through_lds(const std::string& wait) {
  return "v_lshlrev_b32 v9, 2, v30\nv_lshrrev_b32 v9, 4, v9\ns_mov_b32 m0, 48\ns_nop 0\n"
         "global_load_lds_dword v30, s[4:5] offset:16\n" +
         wait + "ds_read_b32 v4, v9 offset:64\ns_waitcnt lgkmcnt(0)";
}

}  // namespace

TEST_CASE("A load to LDS puts the lanes' words one after the other, from M0 and the offset on") {
  if (!can_emulate()) return;
  const std::string code = snippet_kernel("direct", through_lds("s_waitcnt vmcnt(0)\n"), "gfx942", 64 + 256);
  const emulator::Program program = emulator::Program::load(assemble(code, "gfx942"), "gfx942");
  std::vector<Words> inputs = edge_inputs(65), results(64);
  const Arguments arguments = Arguments().add(inputs).add(results);
  emulator::Launch launch;
  launch.kernel = "direct";
  launch.block = {64, 1, 1};
  run(program, launch, arguments);
  // The offset counts for the address in memory too: it is that of the next lane's words.
  for (std::size_t lane = 0; lane < 64; ++lane) CHECK(results[lane][0] == inputs[lane + 1][0]);
}

TEST_CASE("LDS has what a load brings only after a wait") {
  if (!can_emulate()) return;
  const std::string code = snippet_kernel("early", through_lds(""), "gfx942", 64 + 256);
  const emulator::Program program = emulator::Program::load(assemble(code, "gfx942"), "gfx942");
  std::vector<Words> inputs = edge_inputs(65), results(64);
  const Arguments arguments = Arguments().add(inputs).add(results);
  emulator::Launch launch;
  launch.kernel = "early";
  launch.block = {64, 1, 1};
  CHECK_THROWS_WITH_AS(run(program, launch, arguments),
                       doctest::Contains("reads 4 bytes of LDS at 64, which no lane has written"), emulator::Fault);
}

TEST_CASE("Lanes that read different words of one bank of LDS count as conflicts") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const std::string written = "v_mov_b32 v9, 0\nv_mov_b32 v11, 0\nv_lshrrev_b32 v10, 4, v30\n";
    const auto conflicts = [&](const std::string& address, const std::string& instruction, unsigned threads = 32) {
      const std::string code = snippet_kernel("banks", written + address + instruction, arch, 65536);
      const emulator::Program program = emulator::Program::load(assemble(code, arch), arch);
      std::vector<Words> inputs = edge_inputs(64), results(64);
      emulator::Launch launch;
      launch.kernel = "banks";
      launch.block = {threads, 1, 1};
      const emulator::Report report = run(program, launch, Arguments().add(inputs).add(results));
      return std::pair(report.lds_clocks, report.lds_conflicts);
    };
    CHECK(conflicts("v_lshlrev_b32 v9, 2, v10\n", "ds_write_b32 v9, v0") ==
          std::pair<std::uint64_t, std::uint64_t>(1, 0));
    CHECK(conflicts("v_lshlrev_b32 v9, 4, v10\n", "ds_write_b128 v9, v[0:3]") ==
          std::pair<std::uint64_t, std::uint64_t>(4, 0));
    // Rows of 128 bytes: all 32 lanes of 4 bytes in one bank, 8 of 16 bytes in four.
    CHECK(conflicts("v_lshlrev_b32 v9, 7, v10\n", "ds_write_b32 v9, v0") ==
          std::pair<std::uint64_t, std::uint64_t>(32, 31));
    CHECK(conflicts("v_lshlrev_b32 v9, 7, v10\n", "ds_write_b128 v9, v[0:3]") ==
          std::pair<std::uint64_t, std::uint64_t>(32, 28));
    // Reading or writing the same word does not conflict.
    CHECK(conflicts("", "ds_write_b32 v9, v0") == std::pair<std::uint64_t, std::uint64_t>(1, 0));
    // Ten lanes of 12 bytes at once: the last clock of a wave has four lanes (64) or two (32), and no lane after them.
    const unsigned lanes = arch.starts_with("gfx9") ? 64 : 32;
    CHECK(conflicts("v_mul_u32_u24 v9, 12, v10\nv_mov_b32 v10, 80\n", "ds_write_b96 v9, v[0:2]", lanes) ==
          std::pair<std::uint64_t, std::uint64_t>(lanes == 64 ? 7 : 4, 0));
  }
}

TEST_CASE("The address of a store, and of a load to LDS, must have arrived") {
  if (!can_emulate()) return;
  for (const std::string use : {"global_store_dword v10, v0, s[6:7]", "global_load_lds_dword v10, s[4:5]"}) {
    CAPTURE(use);
    const std::string code = snippet_kernel("address", "global_load_dword v10, v30, s[4:5]\n" + use, "gfx942", 1024);
    const emulator::Program program = emulator::Program::load(assemble(code, "gfx942"), "gfx942");
    std::vector<Words> inputs(64), results(64);
    const Arguments arguments = Arguments().add(inputs).add(results);
    emulator::Launch launch;
    launch.kernel = "address";
    launch.block = {64, 1, 1};
    CHECK_THROWS_WITH_AS(run(program, launch, arguments), doctest::Contains("uses v10 while a load to it"),
                         emulator::Fault);
  }
}

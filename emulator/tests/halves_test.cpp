// Halves of registers as operands ("v11.h"), which LLVM 21 and newer print for RDNA3.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/half.hpp"
#include "emulator/parse.hpp"
#include "emulator/wave.hpp"

using namespace xtune::emulator;

namespace {

/// A wave of 32 lanes with eight registers; register i of lane l is 0x10001 * (257 * i + l + 1), with the low half
/// inverted.
struct Halves {
  Wave wave;
  Workgroup group;

  Halves() {
    wave.group = &group;
    wave.lanes = 32;
    wave.generation = Generation::rdna3;
    wave.scalar[scalar_register::exec] = 0xffffffff;
    wave.vector.assign(std::size_t{64} * 8, 0);
    for (std::uint32_t i = 0; i < 8; ++i)
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        wave.row(static_cast<int>(i))[lane] = 0x10001 * (257 * i + lane + 1) ^ 0xffffu;
  }

  void run(const std::string& text) {
    const Instruction in = parse_instruction(text, 32);
    REQUIRE_MESSAGE(in.kind != Kind::unknown, text << ": " << in.reason);
    in.run(wave, in);
  }
  std::uint32_t word(int row, int lane = 5) const { return wave.row(row)[lane]; }
  std::uint32_t low(int row, int lane = 5) const { return word(row, lane) & 0xffff; }
  std::uint32_t high(int row, int lane = 5) const { return word(row, lane) >> 16; }
};

}  // namespace

TEST_CASE("Each operand of 16 bits is the half of a register that it names, and the other half stays") {
  Halves before, after;
  after.run("v_add_nc_u16 v1.l, v1.h, v2.l op_sel:[1,0,0]");
  CHECK(after.low(1) == ((before.high(1) + before.low(2)) & 0xffff));
  CHECK(after.high(1) == before.high(1));
  after.run("v_xor_b16 v3.h, v2.l, 5 op_sel:[0,0,1]");
  CHECK(after.high(3) == (before.low(2) ^ 5));
  CHECK(after.low(3) == before.low(3));
  after.run("v_pack_b32_f16 v4, v2.h, v6.l op_sel:[1,0,0]");
  CHECK(after.word(4) == (before.high(2) | before.low(6) << 16));
  after.run("v_mov_b16_e32 v5.h, v5.l");
  CHECK(after.word(5) == before.low(5) * 0x10001);
  after.run("v_cvt_f16_u16_e32 v6.h, v6.h");
  CHECK(after.high(6) == half_from(before.high(6)).bits);
  after.run("v_cvt_f32_f16_e32 v7, -v6.h");
  CHECK(after.word(7) == std::bit_cast<std::uint32_t>(-static_cast<float>(before.high(6))));
  CHECK(after.low(6) == before.low(6));
}

TEST_CASE("Halves are compared, moved between lanes, and added to their own target") {
  Halves before, after;
  after.run("v_cmp_lt_u16_e32 vcc_lo, v1.h, v1.l");
  std::uint32_t expected = 0;
  for (int lane = 0; lane < 32; ++lane) expected |= std::uint32_t{before.high(1, lane) < before.low(1, lane)} << lane;
  CHECK(after.wave.scalar[scalar_register::vcc] == expected);
  after.run("v_mov_b16_dpp v2.l, v3.h quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf");
  CHECK(after.low(2) == before.high(3, 4));
  CHECK(after.high(2) == before.high(2));
  after.run("v_mov_b32_e32 v4, 0x40003c00");
  after.run("v_fmac_f16_e32 v4.h, v4.l, v4.h");
  CHECK(after.word(4) == 0x44003c00);
  after.run("v_cmp_class_f16_e64 s4, v4.l, v5.h");
  CHECK(after.wave.scalar[4] == 0xffffffff);  // 1.0 is of class 8, which v5.h has in each lane, and v5.l in none
  after.run("v_cmp_class_f16_e64 s4, v4.l, v5.l");
  CHECK(after.wave.scalar[4] == 0);
}

TEST_CASE("An instruction computes the same in both halves") {
  const std::vector<std::string> of_two = {
      "v_add_f16_e32", "v_mul_f16_e32", "v_sub_f16_e32", "v_min_f16_e32", "v_max_f16_e32",  "v_add_nc_u16",
      "v_sub_nc_u16",  "v_mul_lo_u16",  "v_min_u16",     "v_max_i16",     "v_lshlrev_b16",  "v_lshrrev_b16",
      "v_ashrrev_i16", "v_and_b16",     "v_or_b16",      "v_xor_b16",     "v_ldexp_f16_e32"};
  const std::vector<std::string> of_one = {"v_rcp_f16_e32",     "v_sqrt_f16_e32",    "v_rndne_f16_e32",
                                           "v_floor_f16_e32",   "v_cvt_u16_f16_e32", "v_cvt_i16_f16_e32",
                                           "v_cvt_f16_i16_e32", "v_not_b16_e32"};
  const auto compare = [](const std::string& name, const std::string& more_low, const std::string& more_high) {
    CAPTURE(name);
    Halves halves;
    for (int i = 0; i < 3; ++i)  // both halves are equal
      halves.run("v_pack_b32_f16 v" + std::to_string(i) + ", v" + std::to_string(i) + ".h, v" + std::to_string(i) +
                 ".h");
    halves.run(name + " v4.l, v0.l" + more_low);
    halves.run(name + " v4.h, v0.h" + more_high);
    for (int lane = 0; lane < 32; ++lane) CHECK(halves.low(4, lane) == halves.high(4, lane));
  };
  for (const std::string& name : of_two) compare(name, ", v1.l", ", v1.h");
  for (const std::string& name : of_one) compare(name, "", "");
  compare("v_fma_f16", ", v1.l, v2.l", ", v1.h, v2.h op_sel:[1,1,1,1]");
  compare("v_cndmask_b16", ", v1.l, vcc_lo", ", v1.h, vcc_lo");
}

TEST_CASE("A load to one half of a register is waited for before the other half is used") {
  Halves halves;
  const Launch launch;
  const Code code;
  LaunchState state;
  state.launch = &launch;
  state.code = &code;
  halves.group.state = &state;
  const auto fault_of = [&](const std::string& text) {
    const Instruction in = parse_instruction(text, 32);
    halves.wave.current = &in;
    try {
      check_registers(halves.wave, in);
    } catch (const Fault& fault) {
      CHECK(fault.fault_kind() == FaultKind::missing_wait);
      return std::string(fault.what());
    }
    return std::string();
  };
  Operand low;
  low.kind = OperandKind::vector;
  low.index = 1;
  low.half = RegisterHalf::low;
  start_load(halves.wave, Counter::vector_memory, low);
  const std::string same = fault_of("v_mov_b16_e32 v1.l, 0"), whole = fault_of("v_mov_b32_e32 v1, 0"),
                    other = fault_of("v_mov_b16_e32 v1.h, 0");
  CHECK_MESSAGE(same.ends_with("uses v1 while a load to it is outstanding: a wait is missing"), same);
  CHECK_MESSAGE(whole.ends_with(": a wait is missing"), whole);
  CHECK_MESSAGE(other.find(": a wait is missing (the load is to the other half") != std::string::npos, other);
  CHECK(fault_of("v_mov_b16_e32 v2.h, 0").empty());
  halves.wave.generation = Generation::rdna4;  // whose halves do not interfere
  CHECK(fault_of("v_mov_b16_e32 v1.h, 0").empty());
  CHECK(!fault_of("v_mov_b16_e32 v1.l, 0").empty());
  wait_for(halves.wave, Counter::vector_memory, 0);
  CHECK(fault_of("v_mov_b16_e32 v1.h, 0").empty());
}

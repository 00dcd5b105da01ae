// Single instructions, assembled for each architecture, against the formulas of AMD's documents.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "emulator/arithmetic.hpp"
#include "emulator/half.hpp"
#include "emulator/operations.hpp"
#include "unit/emulator/snippet.hpp"

using namespace xtune::test;
namespace emulator = xtune::emulator;

namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

float real(U bits) { return std::bit_cast<float>(bits); }
U bits(float value) { return std::bit_cast<U>(value); }

/// Both NaN, whatever their payloads, or the same bits.
bool same(U found, U expected, bool is_real) {
  return found == expected || (is_real && std::isnan(real(found)) && std::isnan(real(expected)));
}

const char* const cdna = "gfx90a gfx942";
const char* const rdna = "gfx1100 gfx1201";

Words one(U value) { return {value, 0, 0, 0}; }
Words one(float value) { return {bits(value), 0, 0, 0}; }

/// Results are compared as f32 where the name ends in "f32": any NaN is a NaN.
const std::vector<Snippet> snippets = {
    {"shift_left", "v_lshlrev_b32 v4, v0, v1", "", [](const Words& v, int) { return one(v[1] << (v[0] & 31)); }},
    {"shift_right_signed", "v_ashrrev_i32 v4, v0, v1", "",
     [](const Words& v, int) { return one(static_cast<U>(static_cast<std::int32_t>(v[1]) >> (v[0] & 31))); }},
    {"shift_left_64", "v_lshlrev_b64 v[4:5], v0, v[2:3]", "",
     [](const Words& v, int) {
       const U64 wide = (v[2] | U64{v[3]} << 32) << (v[0] & 63);
       return Words{static_cast<U>(wide), static_cast<U>(wide >> 32), 0, 0};
     }},
    {"bit_field_signed", "v_bfe_i32 v4, v0, v1, v2", "",
     [](const Words& v, int) {
       std::int64_t value = static_cast<std::int32_t>(v[0]);
       const int width = static_cast<int>(v[2] & 31);
       value >>= v[1] & 31;
       if (width == 0) return one(0u);
       return one(static_cast<U>(static_cast<std::int64_t>(static_cast<U64>(value) << (64 - width)) >> (64 - width)));
     }},
    {"add_with_carries", "v_add_co_u32 v4, vcc, v0, v2\nv_addc_co_u32 v5, vcc, v1, v3, vcc", cdna,
     [](const Words& v, int) {
       const U64 sum = (v[0] | U64{v[1]} << 32) + (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(sum), static_cast<U>(sum >> 32), 0, 0};
     }},
    {"add_with_carries_32_lanes", "v_add_co_u32 v4, vcc_lo, v0, v2\nv_add_co_ci_u32 v5, vcc_lo, v1, v3, vcc_lo", rdna,
     [](const Words& v, int) {
       const U64 sum = (v[0] | U64{v[1]} << 32) + (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(sum), static_cast<U>(sum >> 32), 0, 0};
     }},
    {"subtract_with_borrow", "v_sub_co_u32 v4, vcc, v0, v2\nv_subb_co_u32 v5, vcc, v1, v3, vcc", cdna,
     [](const Words& v, int) {
       const U64 rest = (v[0] | U64{v[1]} << 32) - (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(rest), static_cast<U>(rest >> 32), 0, 0};
     }},
    {"high_product", "v_mul_hi_u32 v4, v0, v1\nv_mul_hi_i32 v5, v0, v1", "",
     [](const Words& v, int) {
       const auto product = std::int64_t{static_cast<std::int32_t>(v[0])} * static_cast<std::int32_t>(v[1]);
       return Words{static_cast<U>(U64{v[0]} * v[1] >> 32), static_cast<U>(product >> 32), 0, 0};
     }},
    {"wide_product_and_sum", "v_mad_u64_u32 v[4:5], MASK, v0, v1, v[2:3]", "gfx90a gfx942",
     [](const Words& v, int) {
       const U64 sum = U64{v[0]} * v[1] + (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(sum), static_cast<U>(sum >> 32), 0, 0};
     }},
    {"bytes_by_selector", "v_perm_b32 v4, v0, v1, v2", "",
     [](const Words& v, int) {
       U result = 0;
       for (int i = 0; i < 4; ++i) {
         const U which = v[2] >> (8 * i) & 255;
         const auto byte = [&](U n) { return (n < 4 ? v[1] >> (8 * n) : v[0] >> (8 * (n - 4))) & 255; };
         const U sign[] = {v[1] >> 15, v[1] >> 31, v[0] >> 15, v[0] >> 31};
         const U chosen = which > 12 ? 255 : which == 12 ? 0 : which >= 8 ? (sign[which - 8] & 1) * 255 : byte(which);
         result |= chosen << (8 * i);
       }
       return one(result);
     }},
    {"count_leading_zeros", "v_ffbh_u32 v4, v0", cdna,
     [](const Words& v, int) { return one(v[0] == 0 ? ~0u : static_cast<U>(std::countl_zero(v[0]))); }},
    {"choose_by_mask", "v_cmp_lt_i32 MASK, v0, v1\nv_cndmask_b32 v4, v2, v3, MASK", "",
     [](const Words& v, int) {
       return one(static_cast<std::int32_t>(v[0]) < static_cast<std::int32_t>(v[1]) ? v[3] : v[2]);
     }},
    {"compare_unordered", "v_cmp_nlt_f32 MASK, v0, v1\nv_cndmask_b32 v4, 0, 1, MASK", "",
     [](const Words& v, int) { return one(real(v[0]) < real(v[1]) ? 0u : 1u); }},
    {"class_of_number", "v_cmp_class_f32 MASK, v0, v1\nv_cndmask_b32 v4, 0, 1, MASK", "",
     [](const Words& v, int) {
       const U size = v[0] & 0x7fffffff, negative = v[0] >> 31;
       int bit = 0;
       if (size > 0x7f800000)
         bit = v[0] & 0x400000 ? 1 : 0;
       else if (size == 0x7f800000)
         bit = negative ? 2 : 9;
       else if (size == 0)
         bit = negative ? 5 : 6;
       else if (size < 0x800000)
         bit = negative ? 4 : 7;
       else
         bit = negative ? 3 : 8;
       return one(v[1] >> bit & 1);
     }},
    {"sum_f32", "v_add_f32 v4, v0, v1", "", [](const Words& v, int) { return one(real(v[0]) + real(v[1])); }},
    {"product_with_signs_f32", "v_mul_f32 v4, -v0, |v1|", "",
     [](const Words& v, int) { return one(-real(v[0]) * std::fabs(real(v[1]))); }},
    {"fused_f32", "v_fma_f32 v4, v0, v1, v2", "",
     [](const Words& v, int) { return one(std::fma(real(v[0]), real(v[1]), real(v[2]))); }},
    {"accumulated_f32", "v_mov_b32 v4, v2\nv_fmac_f32 v4, v0, v1", "",
     [](const Words& v, int) { return one(std::fma(real(v[0]), real(v[1]), real(v[2]))); }},
    {"scalar_transcendental",
     "s_mov_b32 s10, 0x41800000\ns_mov_b32 s11, 0x3e800000\nv_s_rsq_f32 s12, s10\nv_s_rcp_f32 s13, -s11\n"
     "v_s_exp_f32 s14, 4.0\nv_s_log_f32 s15, s10\nv_mov_b32 v4, s12\nv_mov_b32 v5, s13\nv_mov_b32 v6, s14\n"
     "v_s_sqrt_f32 s12, s10\nv_mov_b32 v7, s15\nv_add_f32 v7, s12, v7",
     "gfx1201",
     [](const Words&, int) {
       return Words{std::bit_cast<U>(0.25f), std::bit_cast<U>(-4.0f), std::bit_cast<U>(16.0f), std::bit_cast<U>(8.0f)};
     }},
    {"indexed_registers",
     "s_mov_b32 s10, 1\nv_mov_b32 v8, v0\nv_mov_b32 v9, v1\ns_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_mov_b32 v4, v8\n"
     "s_set_gpr_idx_off\ns_set_gpr_idx_on s10, gpr_idx(DST)\nv_mov_b32 v4, v2\ns_set_gpr_idx_off\n"
     "s_set_gpr_idx_on s10, gpr_idx(SRC1,DST)\nv_add_u32 v5, v0, v8\ns_set_gpr_idx_off\nv_mov_b32 v7, v8",
     "gfx90a",
     [](const Words& v, int) {
       return Words{v[1], v[2], v[0] + v[1], v[0]};
     }},
    {"middle_of_halves", "v_max3_f16 v4, v0, v1, v2\nv_min3_f16 v5, v0, v1, v2\nv_med3_f16 v6, v0, v0, v0",
     "gfx90a gfx942",
     [](const Words& v, int) {
       const auto number = [&](int i) {
         return emulator::to_double(emulator::Half{static_cast<std::uint16_t>(v[static_cast<std::size_t>(i)])});
       };
       const auto code = [](double x) { return U{emulator::half_from(x).bits}; };
       const auto most = [](double a, double b) { return emulator::maximum_number(a, b); };
       const auto least = [](double a, double b) { return emulator::minimum_number(a, b); };
       return Words{code(most(most(number(0), number(1)), number(2))),
                    code(least(least(number(0), number(1)), number(2))), code(number(0)), 0};
     }},
    {"short_product_and_sum", "v_mad_legacy_u16 v4, v0, v1, v2", cdna,
     [](const Words& v, int) { return one((v[0] * v[1] + v[2]) & 0xffff); }},
    {"middle_of_shorts", "v_max3_u16 v4, v0, v1, v2\nv_min3_u16 v5, v0, v1, v2\nv_med3_u16 v6, v0, v1, v2",
     "gfx90a gfx942",
     [](const Words& v, int) {
       const U a = v[0] & 0xffff, b = v[1] & 0xffff, c = v[2] & 0xffff;
       return Words{std::max({a, b, c}), std::min({a, b, c}), std::max(std::min(a, b), std::min(std::max(a, b), c)), 0};
     }},
    {"clamped_sums",
     "v_add_u32 v4, v0, v1 clamp\nv_sub_u32 v5, v0, v1 clamp\nv_add_i32 v6, v0, v1 clamp\nv_sub_i32 v7, v0, v1 clamp",
     cdna,
     [](const Words& v, int) {
       const auto clamped = [](std::int64_t value) {
         return static_cast<U>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
       };
       const std::int64_t a = static_cast<std::int32_t>(v[0]), b = static_cast<std::int32_t>(v[1]);
       return Words{static_cast<U>(std::min<U64>(U64{v[0]} + v[1], UINT32_MAX)), v[0] > v[1] ? v[0] - v[1] : 0,
                    clamped(a + b), clamped(a - b)};
     }},
    {"sums_of_byte_products",
     "v_dot4_i32_iu8 v4, v0, v1, v2 neg_lo:[1,1,0]\nv_dot4_i32_iu8 v5, v0, v1, v2 neg_lo:[0,1,0]\n"
     "v_dot4_i32_iu8 v6, v0, v1, v2\nv_dot4_i32_iu8 v7, v0, v1, v2 neg_lo:[1,0,0]",
     rdna,
     [](const Words& v, int) {
       const auto sum = [&](bool first, bool second) {
         U total = v[2];
         for (int i = 0; i < 32; i += 8) {
           const int a = first ? static_cast<std::int8_t>(v[0] >> i) : static_cast<std::uint8_t>(v[0] >> i);
           const int b = second ? static_cast<std::int8_t>(v[1] >> i) : static_cast<std::uint8_t>(v[1] >> i);
           total += static_cast<U>(a * b);
         }
         return total;
       };
       return Words{sum(true, true), sum(false, true), sum(false, false), sum(true, false)};
     }},
    {"sum_of_byte_products", "v_mov_b32 v4, v2\nv_dot4c_i32_i8 v4, v0, v1", "gfx90a gfx942",
     [](const Words& v, int) {
       U sum = v[2];
       for (int i = 0; i < 32; i += 8)
         sum += static_cast<U>(static_cast<std::int8_t>(v[0] >> i) * static_cast<std::int8_t>(v[1] >> i));
       return one(sum);
     }},
    {"clamped_f32", "v_add_f32 v4, v0, v1 clamp", "gfx1201",
     [](const Words& v, int) {
       const float sum = real(v[0]) + real(v[1]);
       return one(std::isnan(sum) ? 0.0f : std::fmin(std::fmax(sum, 0.0f), 1.0f));
     }},
    {"minimum_f32", "v_min_f32 v4, v0, v1", "gfx90a gfx942 gfx1100",
     [](const Words& v, int) {
       const float a = real(v[0]), b = real(v[1]);
       const auto signalling = [](U word) { return (word & 0x7fffffff) > 0x7f800000 && !(word & 0x400000); };
       if (signalling(v[0]) || signalling(v[1])) return one(NAN);
       if (std::isnan(a) || std::isnan(b)) return one(std::isnan(a) ? b : a);
       return one(a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b));
     }},
    {"to_unsigned", "v_cvt_u32_f32 v4, v0", "",
     [](const Words& v, int) {
       const double value = real(v[0]);
       return one(std::isnan(value) || value <= 0 ? 0u : value >= 4294967295.0 ? ~0u : static_cast<U>(value));
     }},
    {"to_half", "v_cvt_f16_f32 v4, v0\nv_and_b32 v4, 0xffff, v4", "",
     [](const Words& v, int) {
       // By the distances to the two neighbours, not as the emulator does it.
       const U sign = v[0] >> 16 & 0x8000, size = v[0] & 0x7fffffff;
       if (size > 0x7f800000) return one(sign | 0x7e00 | (size >> 13 & 0x3ff));
       const double value = real(size);
       const auto number = [](U half) {
         return half >= 0x7c00 ? 65536.0
                : half < 0x400 ? half * 0x1p-24
                               : std::ldexp((half & 0x3ff) + 1024.0, static_cast<int>(half >> 10) - 25);
       };
       U low = 0;
       while (low < 0x7c00 && number(low + 1) <= value) ++low;
       if (low == 0x7c00) return one(sign | low);
       const double below = value - number(low), above = number(low + 1) - value;
       return one(sign | (below < above || (below == above && low % 2 == 0) ? low : low + 1));
     }},
    {"reciprocal_f32", "v_rcp_f32 v4, v0", "",
     [](const Words& v, int) {
       const U size = v[0] & 0x7fffffff;
       const float flushed = size < 0x800000 ? real(v[0] & 0x80000000) : real(v[0]);
       const float result = static_cast<float>(1.0 / double{flushed});
       return one((bits(result) & 0x7fffffff) < 0x800000 ? real(bits(result) & 0x80000000) : result);
     }},
    {"quotient_fixup_f32", "v_div_fixup_f32 v4, v2, v0, v1", "",
     [](const Words& v, int) {
       const float a = real(v[1]), b = real(v[0]), q = real(v[2]);  // a / b
       if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return one(a / b);
       if (std::ilogb(a) - std::ilogb(b) < -150) return one(std::copysign(0.0f, a / b));
       return one(std::copysign(std::isnan(q) ? INFINITY : q, std::copysign(1.0f, a) * std::copysign(1.0f, b)));
     }},
    {"packed_halves", "v_pk_add_u16 v4, v0, v1\nv_pk_mul_lo_u16 v5, v0, v1 op_sel:[1,0] op_sel_hi:[0,1]", "",
     [](const Words& v, int) {
       const U sum = ((v[0] + v[1]) & 0xffff) | ((v[0] >> 16) + (v[1] >> 16)) << 16;
       const U product = ((v[0] >> 16) * (v[1] & 0xffff) & 0xffff) | ((v[0] & 0xffff) * (v[1] >> 16)) << 16;
       return Words{sum, product, 0, 0};
     }},
    {"packed_f32", "v_pk_fma_f32 v[4:5], v[0:1], v[2:3], v[0:1] op_sel_hi:[0,1,1]", cdna,
     [](const Words& v, int) {
       return Words{bits(std::fma(real(v[0]), real(v[2]), real(v[0]))),
                    bits(std::fma(real(v[0]), real(v[3]), real(v[1]))), 0, 0};
     }},
    {"row_shift", "v_mov_b32_dpp v4, v0 row_shr:1 row_mask:0xf bank_mask:0xf", "", {}},
    {"quad", "v_mov_b32_dpp v4, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", "", {}},
    {"sdwa_bytes", "v_add_u32_sdwa v4, v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
     cdna, [](const Words& v, int) { return one(((v[0] >> 8 & 255) + (v[1] >> 16)) << 16); }},
    {"dual", "v_mov_b32 v5, v1\nv_dual_add_f32 v4, v0, v1 :: v_dual_mov_b32 v5, v2", rdna,
     [](const Words& v, int) {
       return Words{bits(real(v[0]) + real(v[1])), v[2], 0, 0};
     }},
    {"dual_exchange", "v_mov_b32 v4, v0\nv_mov_b32 v5, v1\nv_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4", "gfx1100",
     [](const Words& v, int) {
       return Words{v[1], v[0], 0, 0};
     }},
};

Words expected_of(const Snippet& snippet, const std::vector<Words>& inputs, int lane) {
  if (snippet.expected) return snippet.expected(inputs[static_cast<unsigned>(lane)], lane);
  // Moves between lanes. A lane without a source keeps its result.
  if (snippet.name == "quad") return one(inputs[static_cast<unsigned>(lane ^ 1)][0]);
  return one(lane % 16 == 0 ? 0u : inputs[static_cast<unsigned>(lane - 1)][0]);
}

void check_snippets(const std::string& arch) {
  std::string text;
  for (const Snippet& each : snippets)
    if (has_arch(each.archs, arch)) text += snippet_kernel(each.name, each.code, arch);
  const emulator::Program program = emulator::Program::load(assemble(text, arch), arch);
  const std::vector<Words> inputs = edge_inputs(wave_size_of(arch));
  for (const Snippet& each : snippets) {
    if (!has_arch(each.archs, arch)) continue;
    const std::vector<Words> found = run_snippet(program, each.name, arch, inputs);
    for (int lane = 0; lane < wave_size_of(arch); ++lane) {
      const auto at = static_cast<unsigned>(lane);
      const Words expected = expected_of(each, inputs, lane);
      for (unsigned i = 0; i < 4; ++i)
        CHECK_MESSAGE(same(found[at][i], expected[i], each.name.ends_with("f32")),
                      arch << " " << each.name << " lane " << lane << " word " << i << ": " << std::hex << found[at][i]
                           << " is not " << expected[i] << " for " << inputs[at][0] << ", " << inputs[at][1] << ", "
                           << inputs[at][2]);
    }
  }
}

}  // namespace

TEST_CASE("Single instructions compute what AMD's documents say") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) check_snippets(arch);
}

TEST_CASE("Scalar instructions set the condition code and mask lanes") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    const bool wide = has_waves_of_64(arch);
    const std::string saved = wide ? "s_and_saveexec_b64 s[20:21], vcc\n" : "s_and_saveexec_b32 s20, vcc_lo\n";
    const std::string restored = wide ? "s_mov_b64 exec, s[20:21]" : "s_mov_b32 exec_lo, s20";
    // Lanes with v0 > v1 only; then a branch on overflow, a carry through scalar registers, and a read of lane 3.
    const std::string body =
        "v_cmp_gt_u32 MASK, v0, v1\n" + saved + "v_mov_b32 v4, 1\n" + restored +
        "\ns_mov_b32 s10, 0x7fffffff\ns_add_i32 s11, s10, 1\ns_cselect_b32 s12, 5, 6\nv_mov_b32 v5, s12\n"
        "s_mov_b32 s13, -1\ns_add_u32 s13, s13, s13\ns_addc_u32 s14, 0, 0\nv_mov_b32 v6, s14\n"
        "v_readlane_b32 s15, v0, 3\nv_mov_b32 v7, s15";
    const emulator::Program program =
        emulator::Program::load(assemble(snippet_kernel("scalars", body, arch), arch), arch);
    const std::vector<Words> inputs = edge_inputs(wave_size_of(arch));
    const std::vector<Words> found = run_snippet(program, "scalars", arch, inputs);
    for (std::size_t lane = 0; lane < inputs.size(); ++lane) {
      CAPTURE(arch);
      CAPTURE(lane);
      CHECK(found[lane] == Words{inputs[lane][0] > inputs[lane][1] ? 1u : 0u, 5, 1, inputs[3][0]});
    }
  }
}

TEST_CASE("The address of an LDS access has 32 bits, so that a base may be negative") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    const std::string wait = arch.starts_with("gfx12") ? "s_wait_dscnt 0x0" : "s_waitcnt lgkmcnt(0)";
    const std::string body =
        "v_mov_b32 v9, 4\nv_mov_b32 v10, -16\nds_write_b32 v9, v0\nds_read_b32 v4, v10 offset:20\n" + wait +
        "\nds_read2_b32 v[6:7], v10 offset0:5 offset1:4\n" + wait;
    const emulator::Program program = emulator::Program::load(
        assemble(snippet_kernel("wrapped", "v_mov_b32 v8, 0\nds_write_b32 v8, v1\n" + body, arch, 64), arch), arch);
    const std::vector<Words> inputs = edge_inputs(wave_size_of(arch));
    const std::vector<Words> found = run_snippet(program, "wrapped", arch, inputs);
    CAPTURE(arch);
    CHECK(found[0] == Words{inputs.back()[0], 0, inputs.back()[0], inputs.back()[1]});
  }
}

TEST_CASE("The tables say how many mnemonics of each kind are known") {
  constexpr const char* names[] = {"scalar",  "vector",        "matrix", "LDS", "global and buffer",
                                   "scratch", "scalar memory", "control"};
  int all = 0;
  for (int kind = 0; kind < static_cast<int>(emulator::Kind::unknown); ++kind) {
    const int count = emulator::mnemonics(static_cast<emulator::Kind>(kind));
    CHECK(count > 0);
    all += count;
    MESSAGE(std::string(names[kind]) << ": " << count);
  }
  MESSAGE("all: " << all);
  CHECK(emulator::find_operation("v_fma_f32") == emulator::find_operation("v_fmaak_f32"));
  CHECK(emulator::find_operation("v_fma_f32_e64") == nullptr);
}

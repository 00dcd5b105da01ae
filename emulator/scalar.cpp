// Instructions of the scalar unit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "emulator/arithmetic.hpp"
#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

/// The scalar condition code as a source.
struct Condition {
  bool set;
};
/// A result that sets the condition code if it is not zero.
template <class T>
struct NonZero {
  T value;
};
/// A result with its condition code.
template <class T>
struct Flagged {
  T value;
  bool scc;
};

template <class T>
T source_of(const Wave& wave, const Operand& from) {
  if constexpr (std::is_same_v<T, Condition>)
    return {wave.scc};
  else
    return flushed(wave, with_modifiers(scalar_source<T>(wave, from), from));
}

template <class T>
void put(Wave& wave, const Operand& to, T value) {
  write_scalar(wave, to, scalar_word(flushed(wave, value)));
}

template <auto F, class L, class R, class... A>
void scalar_function(Wave& wave, const Instruction& in, R (L::*)(A...) const) {
  constexpr std::size_t first = std::is_same_v<R, bool> ? 0 : 1;
  const R result = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return F(source_of<A>(wave, in.operand[first + I])...);
  }
  (std::index_sequence_for<A...>{});
  if constexpr (std::is_same_v<R, bool>) {
    wave.scc = result;
  } else if constexpr (requires { result.scc; }) {
    put(wave, in.operand[0], result.value);
    wave.scc = result.scc;
  } else if constexpr (requires { result.value; }) {
    put(wave, in.operand[0], result.value);
    wave.scc = result.value != 0;
  } else {
    put(wave, in.operand[0], result);
  }
}

template <auto F>
void scalar(Wave& wave, const Instruction& in) {
  scalar_function<F>(wave, in, &decltype(F)::operator());
}

/// D = exec; exec = F(S0, exec).
template <auto F>
void save_exec(Wave& wave, const Instruction& in) {
  const std::uint64_t old = wave.exec(), source = lane_bits(wave, in.operand[1]);
  const std::uint64_t mask = F(source, old) & wave.all_lanes();
  write_lane_bits(wave, in.operand[0], old);
  std::memcpy(&wave.scalar[scalar_register::exec], &mask, sizeof mask);
  wave.scc = mask != 0;
}

/// D = exec = F(S0, exec).
template <auto F>
void write_exec(Wave& wave, const Instruction& in) {
  const std::uint64_t mask = F(lane_bits(wave, in.operand[1]), wave.exec()) & wave.all_lanes();
  write_lane_bits(wave, in.operand[0], mask);
  std::memcpy(&wave.scalar[scalar_register::exec], &mask, sizeof mask);
  wave.scc = mask != 0;
}

template <class T>
void s_cmov(Wave& wave, const Instruction& in) {
  if (wave.scc) put(wave, in.operand[0], scalar_source<T>(wave, in.operand[1]));
}

/// A move with the 16 bits of the instruction; only if the condition code is set for s_cmovk.
std::uint32_t short_constant(const Instruction& in, int place) {
  return static_cast<std::uint32_t>(static_cast<std::int16_t>(in.operand[static_cast<unsigned>(place)].integer));
}
void s_movk(Wave& wave, const Instruction& in) { put(wave, in.operand[0], short_constant(in, 1)); }
void s_cmovk(Wave& wave, const Instruction& in) {
  if (wave.scc) put(wave, in.operand[0], short_constant(in, 1));
}
void s_addk(Wave& wave, const Instruction& in) {
  const auto a = static_cast<std::int32_t>(scalar_source<std::uint32_t>(wave, in.operand[0]));
  std::int32_t sum = 0;
  wave.scc = __builtin_add_overflow(a, static_cast<std::int32_t>(short_constant(in, 1)), &sum);
  put(wave, in.operand[0], sum);
}
void s_mulk(Wave& wave, const Instruction& in) {
  put(wave, in.operand[0], scalar_source<std::uint32_t>(wave, in.operand[0]) * short_constant(in, 1));
}

template <auto F, bool Signed>
void compare_short(Wave& wave, const Instruction& in) {
  const auto a = scalar_source<std::uint32_t>(wave, in.operand[0]);
  const auto b = Signed ? short_constant(in, 1) : static_cast<std::uint16_t>(in.operand[1].integer);
  wave.scc = Signed ? F(std::int64_t{static_cast<std::int32_t>(a)}, std::int64_t{static_cast<std::int32_t>(b)})
                    : F(std::int64_t{a}, std::int64_t{b});
}

template <class T, bool Set>
void bit_set(Wave& wave, const Instruction& in) {
  const T bit = T{1} << (scalar_source<std::uint32_t>(wave, in.operand[1]) & (8 * sizeof(T) - 1));
  const auto old = scalar_source<T>(wave, in.operand[0]);
  put(wave, in.operand[0], Set ? old | bit : old & ~bit);
}

std::uint32_t field_mask(int bits) { return bits >= 32 ? ~0u : (1u << bits) - 1; }

void set_mode(Wave& wave, std::uint32_t bits) {
  if (bits & 0xf) wave.fault(FaultKind::unsupported, "sets a rounding mode other than to the nearest");
  wave.mode_bits = bits;
  wave.mode.flush32 = (bits >> 4 & 3) != 3;
  wave.mode.flush64_16 = (bits >> 6 & 3) != 3;
}

bool is_flat_scratch(int number) {
  return number == hardware_register::flat_scratch || number == hardware_register::flat_scratch + 1;
}
std::uint32_t& flat_scratch_word(Wave& wave, int number) {
  return wave.scalar[static_cast<unsigned>(scalar_register::flat_scratch + number - hardware_register::flat_scratch)];
}

std::uint32_t read_hardware_register(Wave& wave, int number) {
  if (number == hardware_register::mode) return wave.mode_bits;
  if (number == hardware_register::memory_bases)
    return static_cast<std::uint32_t>(private_aperture >> 48 | shared_aperture >> 32);
  if (is_flat_scratch(number)) return flat_scratch_word(wave, number);
  if (number == hardware_register::cycles) return static_cast<std::uint32_t>(clock_of(wave));
  if (number == hardware_register::cycles + 1) return static_cast<std::uint32_t>(clock_of(wave) >> 32);
  wave.fault(FaultKind::unknown_instruction, "reads a hardware register that is not known");
}

void s_getreg(Wave& wave, const Instruction& in) {
  const auto code = static_cast<int>(in.operand[1].integer);
  put(wave, in.operand[0], read_hardware_register(wave, code & 63) >> (code >> 6 & 31) & field_mask((code >> 11) + 1));
}

void s_setreg(Wave& wave, const Instruction& in) {
  const auto code = static_cast<int>(in.operand[0].integer);
  const int number = code & 63;
  if (number != hardware_register::mode && !is_flat_scratch(number))
    wave.fault(FaultKind::unknown_instruction, "writes a hardware register that is not known");
  const std::uint32_t mask = field_mask((code >> 11) + 1) << (code >> 6 & 31);
  const std::uint32_t value = scalar_source<std::uint32_t>(wave, in.operand[1]) << (code >> 6 & 31);
  const std::uint32_t next = (read_hardware_register(wave, number) & ~mask) | (value & mask);
  if (number == hardware_register::mode)
    set_mode(wave, next);
  else
    flat_scratch_word(wave, number) = next;
}
void s_round_mode(Wave& wave, const Instruction& in) {
  set_mode(wave, (wave.mode_bits & ~0xfu) | (static_cast<std::uint32_t>(in.operand[0].integer) & 0xf));
}
void s_denorm_mode(Wave& wave, const Instruction& in) {
  set_mode(wave, (wave.mode_bits & ~0xf0u) | (static_cast<std::uint32_t>(in.operand[0].integer) & 0xf) << 4);
}

template <class T>
int leading(T value, bool ones) {
  return value == 0 ? -1 : ones ? std::countr_zero(value) : std::countl_zero(value);
}

/// Leading bits equal to the sign; -1: all are.
template <class T>
int sign_bits(T value) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value < 0 ? ~value : value);
  return bits == 0 ? -1 : std::countl_zero(bits);
}

template <class T>
T bit_field(T value, std::uint32_t where) {
  const int width = std::min<int>(where >> 16 & 127, 8 * sizeof(T)), shift = where & (8 * sizeof(T) - 1);
  if (width == 0) return 0;
  using Bits = std::make_unsigned_t<T>;
  const Bits moved = static_cast<Bits>(value >> shift);
  const int rest = 8 * static_cast<int>(sizeof(T)) - std::min<int>(width, 8 * static_cast<int>(sizeof(T)));
  return static_cast<T>(static_cast<T>(static_cast<Bits>(moved << rest)) >> rest);
}

/// GPR indexing of gfx9: M0 has the index in bits 0 to 7, and in bits 12 to 15 the operands that it applies to.
constexpr std::uint32_t index_bits = 0xff, index_uses = 0xf000;

void set_index(Wave& wave, std::uint32_t bits, std::uint32_t value) {
  std::uint32_t& m0 = wave.scalar[scalar_register::m0];
  m0 = (m0 & ~bits) | (value & bits);
}
void s_set_gpr_idx_on(Wave& wave, const Instruction& in) {
  set_index(wave, index_bits, scalar_source<std::uint32_t>(wave, in.operand[0]));
  set_index(wave, index_uses, static_cast<std::uint32_t>(in.operand[1].integer) << 12);
  wave.indexes_registers = true;
}
void s_set_gpr_idx_idx(Wave& wave, const Instruction& in) {
  set_index(wave, index_bits, scalar_source<std::uint32_t>(wave, in.operand[0]));
}
void s_set_gpr_idx_off(Wave& wave, const Instruction&) { wave.indexes_registers = false; }

void s_cvt_hi_f32_f16(Wave& wave, const Instruction& in) {
  const Half high{static_cast<std::uint16_t>(scalar_source<U>(wave, in.operand[1]) >> 16)};
  put(wave, in.operand[0], static_cast<float>(to_double(flushed(wave, high))));
}

constexpr Flagged<U> with_carry(U64 sum) { return {static_cast<U>(sum), sum >> 32 != 0}; }
template <class T>
constexpr Flagged<T> flagged(T value, bool scc) {
  return {value, scc};
}

template <auto F>
constexpr Operation scalar_bits(const char* names) {
  return {names, "b32 b64", {scalar<typed<F, NonZero<U>, U>()>, scalar<typed<F, NonZero<U64>, U64>()>}};
}
/// D = exec; exec = F(S0, exec).
template <auto F>
constexpr Operation scalar_saves(const char* names) {
  return {names, "b32 b64", {save_exec<F>}};
}
template <auto F>
constexpr Operation scalar_reals(const char* names) {
  return {names, "f16 f32", {scalar<typed<F, Half, Half>()>, scalar<typed<F, float, float>()>}};
}
template <auto F>
constexpr Operation scalar_real_order(const char* names) {
  return {names, "f16 f32", {scalar<typed<F, bool, Half>()>, scalar<typed<F, bool, float>()>}};
}
template <auto F>
constexpr Operation scalar_order(const char* names) {
  return {names, "i32 u32", {scalar<typed<F, bool, I>()>, scalar<typed<F, bool, U>()>}};
}
template <auto F>
constexpr Operation scalar_order_of_short(const char* names) {
  return {names, "i32 u32", {compare_short<F, true>, compare_short<F, false>}};
}

constexpr Operation scalar_table[] = {
    scalar_bits<[](auto a, auto b) { return a & b; }>("s_and_#"),
    scalar_bits<[](auto a, auto b) { return a | b; }>("s_or_#"),
    scalar_bits<[](auto a, auto b) { return a ^ b; }>("s_xor_#"),
    scalar_bits<[](auto a, auto b) { return a & ~b; }>("s_andn2_# s_and_not1_#"),
    scalar_bits<[](auto a, auto b) { return a | ~b; }>("s_orn2_# s_or_not1_#"),
    scalar_bits<[](auto a, auto b) { return ~(a & b); }>("s_nand_#"),
    scalar_bits<[](auto a, auto b) { return ~(a | b); }>("s_nor_#"),
    scalar_bits<[](auto a, auto b) { return ~(a ^ b); }>("s_xnor_#"),
    scalar_bits<[](auto a) { return ~a; }>("s_not_#"),
    scalar_order<[](auto a, auto b) { return a == b; }>("s_cmp_eq_#"),
    scalar_order<[](auto a, auto b) { return a != b; }>("s_cmp_lg_#"),
    scalar_order<[](auto a, auto b) { return (a > b); }>("s_cmp_gt_#"),
    scalar_order<[](auto a, auto b) { return (a >= b); }>("s_cmp_ge_#"),
    scalar_order<[](auto a, auto b) { return a < b; }>("s_cmp_lt_#"),
    scalar_order<[](auto a, auto b) { return a <= b; }>("s_cmp_le_#"),
    scalar_order_of_short<[](I64 a, I64 b) { return a == b; }>("s_cmpk_eq_#"),
    scalar_order_of_short<[](I64 a, I64 b) { return a != b; }>("s_cmpk_lg_#"),
    scalar_order_of_short<[](I64 a, I64 b) { return (a > b); }>("s_cmpk_gt_#"),
    scalar_order_of_short<[](I64 a, I64 b) { return (a >= b); }>("s_cmpk_ge_#"),
    scalar_order_of_short<[](I64 a, I64 b) { return a < b; }>("s_cmpk_lt_#"),
    scalar_order_of_short<[](I64 a, I64 b) { return a <= b; }>("s_cmpk_le_#"),
    scalar_saves<[](U64 s, U64 e) { return s & e; }>("s_and_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return s | e; }>("s_or_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return s ^ e; }>("s_xor_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return ~(s & e); }>("s_nand_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return ~(s | e); }>("s_nor_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return ~(s ^ e); }>("s_xnor_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return s & ~e; }>("s_andn2_saveexec_# s_and_not1_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return s | ~e; }>("s_orn2_saveexec_# s_or_not1_saveexec_#"),
    scalar_saves<[](U64 s, U64 e) { return ~s & e; }>("s_andn1_saveexec_# s_and_not0_saveexec_#"),
    {"s_mov_b32", scalar<[](U a) { return a; }>},
    {"s_mov_b64", scalar<[](U64 a) { return a; }>},
    {"s_movk_i32", s_movk},
    {"s_cmovk_i32", s_cmovk},
    {"s_cmov_b32", s_cmov<U>},
    {"s_cmov_b64", s_cmov<U64>},
    {"s_cselect_b32", scalar<[](U a, U b, Condition c) { return c.set ? a : b; }>},
    {"s_cselect_b64", scalar<[](U64 a, U64 b, Condition c) { return c.set ? a : b; }>},
    {"s_add_u32 s_add_co_u32", scalar<[](U a, U b) { return flagged<U>(a + b, a + b < a); }>},
    {"s_sub_u32 s_sub_co_u32", scalar<[](U a, U b) { return flagged<U>(a - b, a < b); }>},
    {"s_addc_u32 s_add_co_ci_u32", scalar<[](U a, U b, Condition c) { return with_carry(U64{a} + b + c.set); }>},
    {"s_subb_u32 s_sub_co_ci_u32",
     scalar<[](U a, U b, Condition c) { return flagged<U>(a - b - c.set, U64{a} < U64{b} + c.set); }>},
    {"s_add_i32 s_add_co_i32", scalar<[](I a, I b) {
       I sum = 0;
       const bool over = __builtin_add_overflow(a, b, &sum);
       return flagged<I>(sum, over);
     }>},
    {"s_sub_i32 s_sub_co_i32", scalar<[](I a, I b) {
       I rest = 0;
       const bool over = __builtin_sub_overflow(a, b, &rest);
       return flagged<I>(rest, over);
     }>},
    {"s_addk_i32 s_addk_co_i32", s_addk},
    {"s_mulk_i32", s_mulk},
    {"s_add_u64 s_add_nc_u64", scalar<[](U64 a, U64 b) { return a + b; }>},
    {"s_sub_u64 s_sub_nc_u64", scalar<[](U64 a, U64 b) { return a - b; }>},
    {"s_mul_u64", scalar<[](U64 a, U64 b) { return a * b; }>},
    {"s_mul_i32", scalar<[](U a, U b) { return a * b; }>},
    {"s_mul_hi_u32", scalar<[](U a, U b) { return (static_cast<U>(U64{a} * b >> 32)); }>},
    {"s_mul_hi_i32", scalar<[](I a, I b) { return (static_cast<I>(I64{a} * b >> 32)); }>},
    {"s_abs_i32", scalar<[](I a) { return (NonZero<U>{a < 0 ? 0u - static_cast<U>(a) : static_cast<U>(a)}); }>},
    {"s_absdiff_i32", scalar<[](I a, I b) { return (NonZero<U>{absolute_difference(a, b)}); }>},
    {"s_min_i32", scalar<[](I a, I b) { return flagged<I>(a < b ? a : b, a < b); }>},
    {"s_min_u32", scalar<[](U a, U b) { return flagged<U>(a < b ? a : b, a < b); }>},
    {"s_max_i32", scalar<[](I a, I b) { return flagged<I>((a > b) ? a : b, (a > b)); }>},
    {"s_max_u32", scalar<[](U a, U b) { return flagged<U>((a > b) ? a : b, (a > b)); }>},
    {"s_lshl_b32", scalar<[](U a, U b) { return (NonZero<U>{a << (b & 31)}); }>},
    {"s_lshl_b64", scalar<[](U64 a, U b) { return (NonZero<U64>{a << (b & 63)}); }>},
    {"s_lshr_b32", scalar<[](U a, U b) { return (NonZero<U>{(a >> (b & 31))}); }>},
    {"s_lshr_b64", scalar<[](U64 a, U b) { return (NonZero<U64>{(a >> (b & 63))}); }>},
    {"s_ashr_i32", scalar<[](I a, U b) { return (NonZero<I>{(a >> (b & 31))}); }>},
    {"s_ashr_i64", scalar<[](I64 a, U b) { return (NonZero<I64>{(a >> (b & 63))}); }>},
    {"s_lshl1_add_u32", scalar<[](U a, U b) { return with_carry((U64{a} << 1) + b); }>},
    {"s_lshl2_add_u32", scalar<[](U a, U b) { return with_carry((U64{a} << 2) + b); }>},
    {"s_lshl3_add_u32", scalar<[](U a, U b) { return with_carry((U64{a} << 3) + b); }>},
    {"s_lshl4_add_u32", scalar<[](U a, U b) { return with_carry((U64{a} << 4) + b); }>},
    {"s_bfe_u32", scalar<[](U a, U b) { return (NonZero<U>{bit_field(a, b)}); }>},
    {"s_bfe_i32", scalar<[](I a, U b) { return (NonZero<I>{bit_field(a, b)}); }>},
    {"s_bfe_u64", scalar<[](U64 a, U b) { return (NonZero<U64>{bit_field(a, b)}); }>},
    {"s_bfe_i64", scalar<[](I64 a, U b) { return (NonZero<I64>{bit_field(a, b)}); }>},
    {"s_bfm_b32", scalar<[](U a, U b) { return ((1u << (a & 31)) - 1) << (b & 31); }>},
    {"s_bfm_b64", scalar<[](U a, U b) { return ((U64{1} << (a & 63)) - 1) << (b & 63); }>},
    {"s_brev_b32", scalar<[](U a) { return reversed(a); }>},
    {"s_brev_b64",
     scalar<[](U64 a) { return (U64{reversed(static_cast<U>(a))} << 32 | reversed(static_cast<U>(a >> 32))); }>},
    {"s_bcnt0_i32_b32", scalar<[](U a) { return (NonZero<U>{static_cast<U>(std::popcount(~a))}); }>},
    {"s_bcnt0_i32_b64", scalar<[](U64 a) { return (NonZero<U>{static_cast<U>(std::popcount(~a))}); }>},
    {"s_bcnt1_i32_b32", scalar<[](U a) { return (NonZero<U>{static_cast<U>(std::popcount(a))}); }>},
    {"s_bcnt1_i32_b64", scalar<[](U64 a) { return (NonZero<U>{static_cast<U>(std::popcount(a))}); }>},
    {"s_ff1_i32_b32 s_ctz_i32_b32", scalar<[](U a) { return (static_cast<I>(leading(a, true))); }>},
    {"s_ff1_i32_b64 s_ctz_i32_b64", scalar<[](U64 a) { return (static_cast<I>(leading(a, true))); }>},
    {"s_flbit_i32_b32 s_clz_i32_u32", scalar<[](U a) { return (static_cast<I>(leading(a, false))); }>},
    {"s_flbit_i32_b64 s_clz_i32_u64", scalar<[](U64 a) { return (static_cast<I>(leading(a, false))); }>},
    {"s_flbit_i32 s_cls_i32", scalar<[](I a) { return (static_cast<I>(sign_bits(a))); }>},
    {"s_flbit_i32_i64 s_cls_i32_i64", scalar<[](I64 a) { return (static_cast<I>(sign_bits(a))); }>},
    {"s_sext_i32_i8", scalar<[](U a) { return (static_cast<I>(static_cast<std::int8_t>(a))); }>},
    {"s_sext_i32_i16", scalar<[](U a) { return (static_cast<I>(static_cast<std::int16_t>(a))); }>},
    {"s_pack_ll_b32_b16", scalar<[](U a, U b) { return (a & 0xffff) | b << 16; }>},
    {"s_pack_lh_b32_b16", scalar<[](U a, U b) { return (a & 0xffff) | (b & 0xffff0000u); }>},
    {"s_pack_hh_b32_b16", scalar<[](U a, U b) { return (a >> 16 | (b & 0xffff0000u)); }>},
    {"s_pack_hl_b32_b16", scalar<[](U a, U b) { return (a >> 16 | b << 16); }>},
    {"s_bitset0_b32", bit_set<U, false>},
    {"s_bitset1_b32", bit_set<U, true>},
    {"s_bitset0_b64", bit_set<U64, false>},
    {"s_bitset1_b64", bit_set<U64, true>},
    {"s_cmp_eq_u64", scalar<[](U64 a, U64 b) { return a == b; }>},
    {"s_cmp_lg_u64", scalar<[](U64 a, U64 b) { return a != b; }>},
    {"s_bitcmp0_b32", scalar<[](U a, U b) { return (!(a >> (b & 31) & 1)); }>},
    {"s_bitcmp1_b32", scalar<[](U a, U b) { return ((a >> (b & 31) & 1) != 0); }>},
    {"s_bitcmp0_b64", scalar<[](U64 a, U b) { return (!(a >> (b & 63) & 1)); }>},
    {"s_bitcmp1_b64", scalar<[](U64 a, U b) { return ((a >> (b & 63) & 1) != 0); }>},
    {"s_andn2_wrexec_b32 s_andn2_wrexec_b64 s_and_not1_wrexec_b32 s_and_not1_wrexec_b64",
     write_exec<[](U64 s, U64 e) { return s & ~e; }>},
    {"s_andn1_wrexec_b32 s_andn1_wrexec_b64 s_and_not0_wrexec_b32 s_and_not0_wrexec_b64",
     write_exec<[](U64 s, U64 e) { return ~s & e; }>},
    {"s_getreg_b32", s_getreg},
    {"s_setreg_b32 s_setreg_imm32_b32", s_setreg},
    {"s_set_gpr_idx_on", s_set_gpr_idx_on},
    {"s_set_gpr_idx_idx", s_set_gpr_idx_idx},
    {"s_set_gpr_idx_off", s_set_gpr_idx_off, Sources::none},
    {"s_round_mode", s_round_mode},
    {"s_denorm_mode", s_denorm_mode},
    {"s_fmaak_f32 s_fmamk_f32", scalar<[](float a, float b, float c) { return std::fma(a, b, c); }>},
    {"s_fmac_f32", scalar<[](float a, float b, float c) { return std::fma(a, b, c); }>, Sources::with_target},
    {"s_cvt_f32_u32", scalar<[](U a) { return (static_cast<float>(a)); }>},
    {"s_cvt_f32_i32", scalar<[](I a) { return (static_cast<float>(a)); }>},
    {"s_cvt_u32_f32", scalar<[](float a) { return (saturated<U>(a)); }>},
    {"s_cvt_i32_f32", scalar<[](float a) { return (saturated<I>(a)); }>},
    {"s_cvt_f16_f32", scalar<[](float a) { return half_from(a); }>},
    {"s_cvt_pk_rtz_f16_f32", scalar<[](float a, float b) { return pair_of(half_truncated(a), half_truncated(b)); }>},
    {"s_cvt_f32_f16", scalar<[](Half a) { return static_cast<float>(to_double(a)); }>},
    {"s_cvt_hi_f32_f16", s_cvt_hi_f32_f16},
    {"s_fmac_f16", scalar<[](Half a, Half b, Half c) { return half_fma(to_double(a), to_double(b), to_double(c)); }>,
     Sources::with_target},
    scalar_reals<[](auto a, auto b) { return a + b; }>("s_add_#"),
    scalar_reals<[](auto a, auto b) { return a - b; }>("s_sub_#"),
    scalar_reals<[](auto a, auto b) { return a * b; }>("s_mul_#"),
    scalar_reals<[](auto a, auto b) { return minimum_number(a, b); }>("s_min_# s_min_num_#"),
    scalar_reals<[](auto a, auto b) { return maximum_number(a, b); }>("s_max_# s_max_num_#"),
    scalar_reals<[](auto a, auto b) { return minimum(a, b); }>("s_minimum_#"),
    scalar_reals<[](auto a, auto b) { return maximum(a, b); }>("s_maximum_#"),
    scalar_reals<[](auto a) { return std::trunc(a); }>("s_trunc_#"),
    scalar_reals<[](auto a) { return std::floor(a); }>("s_floor_#"),
    scalar_reals<[](auto a) { return std::ceil(a); }>("s_ceil_#"),
    scalar_reals<[](auto a) { return std::nearbyint(a); }>("s_rndne_#"),
    scalar_real_order<[](auto a, auto b) { return a < b; }>("s_cmp_lt_#"),
    scalar_real_order<[](auto a, auto b) { return (a > b); }>("s_cmp_gt_#"),
    scalar_real_order<[](auto a, auto b) { return a <= b; }>("s_cmp_le_#"),
    scalar_real_order<[](auto a, auto b) { return (a >= b); }>("s_cmp_ge_#"),
    scalar_real_order<[](auto a, auto b) { return a == b; }>("s_cmp_eq_#"),
    scalar_real_order<[](auto a, auto b) { return (a < b || a > b); }>("s_cmp_lg_#"),
    scalar_real_order<[](auto a, auto b) { return !(a < b || a > b); }>("s_cmp_nlg_#"),
    scalar_real_order<[](auto a, auto b) { return !(a == b); }>("s_cmp_neq_#"),
    scalar_real_order<[](auto a, auto b) { return !(a < b); }>("s_cmp_nlt_#"),
    scalar_real_order<[](auto a, auto b) { return !(a > b); }>("s_cmp_ngt_#"),
    scalar_real_order<[](auto a, auto b) { return !(a <= b); }>("s_cmp_nle_#"),
    scalar_real_order<[](auto a, auto b) { return !(a >= b); }>("s_cmp_nge_#"),
    scalar_real_order<[](auto a, auto b) { return a == a && b == b; }>("s_cmp_o_#"),
    scalar_real_order<[](auto a, auto b) { return a != a || b != b; }>("s_cmp_u_#"),
};

}  // namespace

const OperationTable scalar_operations{Kind::scalar, scalar_table};

}  // namespace xtune::emulator

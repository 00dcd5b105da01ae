// Global, flat and scratch memory: loads, stores and atomic updates of each lane.
#include <cmath>

#include "emulator/access.hpp"
#include "emulator/arithmetic.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

enum class Space { global, flat, scratch };

/// The address of a lane: a vector register or pair, with a scalar base, and the offset of the instruction.
template <Space S>
std::uint64_t lane_address(const Wave& wave, const Instruction& in, int first, bool has_base, int lane) {
  const Operand& vector = in.operand[static_cast<unsigned>(first)];
  std::uint64_t address = static_cast<std::uint64_t>(std::int64_t{in.modifiers.offset});
  if (vector.kind == OperandKind::vector) {
    const std::uint32_t low = address_word(wave, vector.index, lane);
    const bool wide = S != Space::scratch && vector.registers == 2;
    address += wide ? low | std::uint64_t{address_word(wave, vector.index + 1, lane)} << 32 : low;
  }
  if (!has_base) return address;
  const Operand& base = in.operand[static_cast<unsigned>(in.operands - 1)];
  if (base.kind == OperandKind::off) return address;
  if constexpr (S == Space::scratch)
    return address + scalar_source<std::uint32_t>(wave, base);
  else
    return address + scalar_source<std::uint64_t>(wave, base);
}

template <Space S>
std::byte* place_in(Wave& wave, std::uint64_t address, std::size_t bytes, int lane, Use use) {
  if constexpr (S == Space::scratch)
    return scratch_place(wave, static_cast<std::uint32_t>(address), bytes, lane);
  else if constexpr (S == Space::flat)
    return flat_place(wave, address, bytes, lane, use);
  else
    return global_place(wave, address, bytes, lane, use);
}

/// A flat access counts as one of LDS too.
template <Space S>
void start_memory_load(Wave& wave, const Operand& to) {
  start_load(wave, Counter::vector_memory, to);
  if constexpr (S == Space::flat) start_load(wave, Counter::lds, to);
}
template <Space S>
void start_memory_store(Wave& wave) {
  start_store(wave);
  if constexpr (S == Space::flat)
    start_load(wave, Counter::lds, [] {
      Operand none;
      none.registers = 0;
      return none;
    }());
}

template <Space S, class T, int Words, Extension E>
void memory_load(Wave& wave, const Instruction& in) {
  constexpr bool has_base = S != Space::flat;
  load_lanes<T, Words, E>(wave, in.operand[0], [&](int lane, std::size_t bytes) {
    return place_in<S>(wave, lane_address<S>(wave, in, 1, has_base, lane), bytes, lane, Use::read);
  });
  start_memory_load<S>(wave, target_of<E>(in));
}

/// Each lane's element goes to LDS, where M0 and the offset say for the first lane, and 4 bytes further for each next
/// one.
template <class T>
void load_to_lds(Wave& wave, const Instruction& in) {
  const std::uint64_t exec = wave.exec();
  const auto first = static_cast<std::int64_t>(wave.scalar[scalar_register::m0] & 0xffffu) + in.modifiers.offset;
  auto copy = std::make_shared<LdsCopy>();
  for (int lane = 0; lane < wave.lanes; ++lane) {
    if (!(exec >> lane & 1)) continue;
    const std::uint64_t address = lane_address<Space::global>(wave, in, 0, true, lane);
    const T value = load_once<T>(global_place(wave, address, sizeof(T), lane, Use::read));
    const auto place = static_cast<std::uint64_t>(first + 4 * lane);
    lds_place(wave, place, 4, lane, Use::write);
    copy->words.push_back({static_cast<std::uint32_t>(place), word_from<T, Extension::none>(value, 0)});
  }
  settle_lds(wave, true);
  start_copy(wave, std::move(copy));
}

template <Space S, class T, int Words, bool High>
void memory_store(Wave& wave, const Instruction& in) {
  constexpr bool has_base = S != Space::flat;
  store_lanes<T, Words, High>(wave, in.operand[1], [&](int lane, std::size_t bytes) {
    return place_in<S>(wave, lane_address<S>(wave, in, 0, has_base, lane), bytes, lane, Use::write);
  });
  if constexpr (S == Space::flat) settle_lds(wave);
  start_memory_store<S>(wave);
}

template <Space S, class T, auto F>
void memory_update(Wave& wave, const Instruction& in) {
  constexpr bool has_base = S != Space::flat;
  const bool returns = in.operands == (has_base ? 4 : 3);
  const int first = returns ? 1 : 0;
  const bool swaps_in_lds = S == Space::flat && in.text.starts_with("flat_atomic_cmpswap");
  update_lanes<T, F>(wave, returns ? &in.operand[0] : nullptr, in.operand[static_cast<unsigned>(first + 1)],
                     [&](int lane, std::size_t bytes) {
                       const std::uint64_t address = lane_address<S>(wave, in, first, has_base, lane);
                       if (swaps_in_lds && is_shared(address)) confirm_reads(wave, address & 0xffffffff, bytes);
                       return place_in<S>(wave, address, bytes, lane, returns ? Use::fetch : Use::update);
                     });
  if (returns)
    start_memory_load<S>(wave, in.operand[0]);
  else
    start_memory_store<S>(wave);
}

using U = std::uint32_t;
using I = std::int32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;
using U8 = std::uint8_t;
using I8 = std::int8_t;
using U16 = std::uint16_t;
using I16 = std::int16_t;
using E = Extension;

#define LOADS(prefix, space, kind)                                                                            \
  {prefix "load_dword " prefix "load_b32", memory_load<space, U, 1, E::none>, kind},                          \
      {prefix "load_dwordx2 " prefix "load_b64", memory_load<space, U, 2, E::none>, kind},                    \
      {prefix "load_dwordx3 " prefix "load_b96", memory_load<space, U, 3, E::none>, kind},                    \
      {prefix "load_dwordx4 " prefix "load_b128", memory_load<space, U, 4, E::none>, kind},                   \
      {prefix "load_ubyte " prefix "load_u8", memory_load<space, U8, 1, E::none>, kind},                      \
      {prefix "load_sbyte " prefix "load_i8", memory_load<space, I8, 1, E::none>, kind},                      \
      {prefix "load_ushort " prefix "load_u16", memory_load<space, U16, 1, E::none>, kind},                   \
      {prefix "load_sshort " prefix "load_i16", memory_load<space, I16, 1, E::none>, kind},                   \
      {prefix "load_short_d16 " prefix "load_d16_b16", memory_load<space, U16, 1, E::half_low>, kind},        \
      {prefix "load_short_d16_hi " prefix "load_d16_hi_b16", memory_load<space, U16, 1, E::half_high>, kind}, \
      {prefix "load_ubyte_d16 " prefix "load_d16_u8", memory_load<space, U8, 1, E::half_low>, kind},          \
      {prefix "load_ubyte_d16_hi " prefix "load_d16_hi_u8", memory_load<space, U8, 1, E::half_high>, kind},   \
      {prefix "load_sbyte_d16 " prefix "load_d16_i8", memory_load<space, I8, 1, E::half_low>, kind},          \
      {prefix "load_sbyte_d16_hi " prefix "load_d16_hi_i8", memory_load<space, I8, 1, E::half_high>, kind},   \
      {prefix "store_dword " prefix "store_b32", memory_store<space, U, 1, false>, kind},                     \
      {prefix "store_dwordx2 " prefix "store_b64", memory_store<space, U, 2, false>, kind},                   \
      {prefix "store_dwordx3 " prefix "store_b96", memory_store<space, U, 3, false>, kind},                   \
      {prefix "store_dwordx4 " prefix "store_b128", memory_store<space, U, 4, false>, kind},                  \
      {prefix "store_byte " prefix "store_b8", memory_store<space, U8, 1, false>, kind},                      \
      {prefix "store_short " prefix "store_b16", memory_store<space, U16, 1, false>, kind},                   \
      {prefix "store_byte_d16_hi " prefix "store_d16_hi_b8", memory_store<space, U8, 1, true>, kind}, {       \
    prefix "store_short_d16_hi " prefix "store_d16_hi_b16", memory_store<space, U16, 1, true>, kind           \
  }

#define UPDATE(names, space, type, expression)                \
  {                                                           \
    names,                                                    \
        memory_update<space, type,                            \
                      [](type old, type data, type compare) { \
                        (void)old;                            \
                        (void)compare;                        \
                        (void)data;                           \
                        return static_cast<type>(expression); \
                      }>,                                     \
        Kind::global                                          \
  }

// gfx9 and gfx10 name the types by their sizes, gfx11 and later by their types.
#define UPDATES(prefix, s)                                                                                             \
  UPDATE(prefix "add " prefix "add_u32", s, U, old + data), UPDATE(prefix "sub " prefix "sub_u32", s, U, old - data),  \
      UPDATE(prefix "swap " prefix "swap_b32", s, U, data),                                                            \
      UPDATE(prefix "cmpswap " prefix "cmpswap_b32", s, U, old == compare ? data : old),                               \
      UPDATE(prefix "smin " prefix "min_i32", s, I, old < data ? old : data),                                          \
      UPDATE(prefix "umin " prefix "min_u32", s, U, old < data ? old : data),                                          \
      UPDATE(prefix "smax " prefix "max_i32", s, I, old < data ? data : old),                                          \
      UPDATE(prefix "umax " prefix "max_u32", s, U, old < data ? data : old),                                          \
      UPDATE(prefix "and " prefix "and_b32", s, U, old& data), UPDATE(prefix "or " prefix "or_b32", s, U, old | data), \
      UPDATE(prefix "xor " prefix "xor_b32", s, U, old ^ data),                                                        \
      UPDATE(prefix "inc " prefix "inc_u32", s, U, (old >= data) ? 0 : old + 1),                                       \
      UPDATE(prefix "dec " prefix "dec_u32", s, U, (old == 0 || data < old) ? data : old - 1),                         \
      UPDATE(prefix "add_x2 " prefix "add_u64", s, U64, old + data),                                                   \
      UPDATE(prefix "sub_x2 " prefix "sub_u64", s, U64, old - data),                                                   \
      UPDATE(prefix "swap_x2 " prefix "swap_b64", s, U64, data),                                                       \
      UPDATE(prefix "cmpswap_x2 " prefix "cmpswap_b64", s, U64, old == compare ? data : old),                          \
      UPDATE(prefix "smin_x2 " prefix "min_i64", s, I64, old < data ? old : data),                                     \
      UPDATE(prefix "umin_x2 " prefix "min_u64", s, U64, old < data ? old : data),                                     \
      UPDATE(prefix "smax_x2 " prefix "max_i64", s, I64, old < data ? data : old),                                     \
      UPDATE(prefix "umax_x2 " prefix "max_u64", s, U64, old < data ? data : old),                                     \
      UPDATE(prefix "and_x2 " prefix "and_b64", s, U64, old& data),                                                    \
      UPDATE(prefix "or_x2 " prefix "or_b64", s, U64, old | data),                                                     \
      UPDATE(prefix "xor_x2 " prefix "xor_b64", s, U64, old ^ data), UPDATE(prefix "add_f32", s, float, old + data),   \
      UPDATE(prefix "add_f64", s, double, old + data), UPDATE(prefix "min_f64", s, double, minimum_number(old, data)), \
      UPDATE(prefix "max_f64", s, double, maximum_number(old, data)),                                                  \
      UPDATE(prefix "fmin " prefix "min_f32 " prefix "min_num_f32", s, float, minimum_number(old, data)),              \
      UPDATE(prefix "fmax " prefix "max_f32 " prefix "max_num_f32", s, float, maximum_number(old, data)),              \
      UPDATE(prefix "pk_add_f16", s, U, sum_of_halves(old, data)),                                                     \
      UPDATE(prefix "pk_add_bf16", s, U, sum_of_bf16(old, data))

constexpr Operation global_table[] = {
    LOADS("global_", Space::global, Kind::global),
    LOADS("flat_", Space::flat, Kind::global),
    LOADS("scratch_", Space::scratch, Kind::scratch),
    UPDATES("global_atomic_", Space::global),
    UPDATES("flat_atomic_", Space::flat),
    {"global_load_lds_dword", load_to_lds<U>, Kind::global},
    {"global_load_lds_ubyte", load_to_lds<U8>, Kind::global},
    {"global_load_lds_sbyte", load_to_lds<I8>, Kind::global},
    {"global_load_lds_ushort", load_to_lds<U16>, Kind::global},
    {"global_load_lds_sshort", load_to_lds<I16>, Kind::global},
};

#undef LOADS
#undef UPDATE
#undef UPDATES

}  // namespace

std::span<const Operation> global_operations() { return global_table; }

}  // namespace xtune::emulator

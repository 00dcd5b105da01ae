// The accesses of memory by their names: loads and stores, and atomic updates.
#pragma once

#include "emulator/access.hpp"
#include "emulator/arithmetic.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {

/// M::load<T, Words, E> and M::store<T, Words, High> execute the loads and stores of a kind of memory.
template <class M, class E = Extension>
constexpr Operation memory_accesses[] = {
    {"load_dword load_b32", M::template load<U, 1, E::none>},
    {"load_dwordx2 load_b64", M::template load<U, 2, E::none>},
    {"load_dwordx3 load_b96", M::template load<U, 3, E::none>},
    {"load_dwordx4 load_b128", M::template load<U, 4, E::none>},
    {"load_ubyte load_u8", M::template load<U8, 1, E::none>},
    {"load_sbyte load_i8", M::template load<I8, 1, E::none>},
    {"load_ushort load_u16", M::template load<U16, 1, E::none>},
    {"load_sshort load_i16", M::template load<I16, 1, E::none>},
    {"load_short_d16 load_d16_b16", M::template load<U16, 1, E::half_low>},
    {"load_short_d16_hi load_d16_hi_b16", M::template load<U16, 1, E::half_high>},
    {"load_ubyte_d16 load_d16_u8", M::template load<U8, 1, E::half_low>},
    {"load_ubyte_d16_hi load_d16_hi_u8", M::template load<U8, 1, E::half_high>},
    {"load_sbyte_d16 load_d16_i8", M::template load<I8, 1, E::half_low>},
    {"load_sbyte_d16_hi load_d16_hi_i8", M::template load<I8, 1, E::half_high>},
    {"store_dword store_b32", M::template store<U, 1, false>},
    {"store_dwordx2 store_b64", M::template store<U, 2, false>},
    {"store_dwordx3 store_b96", M::template store<U, 3, false>},
    {"store_dwordx4 store_b128", M::template store<U, 4, false>},
    {"store_byte store_b8", M::template store<U8, 1, false>},
    {"store_short store_b16", M::template store<U16, 1, false>},
    {"store_byte_d16_hi store_d16_hi_b8", M::template store<U8, 1, true>},
    {"store_short_d16_hi store_d16_hi_b16", M::template store<U16, 1, true>},
};

/// Runs<T, F>::run: functions that replace what memory has by F(old, data), for names with each of Runs<T, F>::types.
template <template <class T, auto F> class Runs, class T, auto F>
constexpr Operation update(const char* names) {
  return {names, Runs<T, F>::types, Runs<T, F>::run};
}

/// In global memory, gfx9 and gfx10 name the types by their sizes, gfx11 and later by their types, as LDS does: the
/// names with #.
template <template <class T, auto F> class Runs>
constexpr Operation memory_updates[] = {
    update<Runs, U, [](U old, U data) { return old + data; }>("add#_u32 add"),
    update<Runs, U, [](U old, U data) { return old - data; }>("sub#_u32 sub"),
    update<Runs, I, [](I old, I data) { return old < data ? old : data; }>("min#_i32 smin"),
    update<Runs, U, [](U old, U data) { return old < data ? old : data; }>("min#_u32 umin"),
    update<Runs, I, [](I old, I data) { return old < data ? data : old; }>("max#_i32 smax"),
    update<Runs, U, [](U old, U data) { return old < data ? data : old; }>("max#_u32 umax"),
    update<Runs, U, [](U old, U data) { return old & data; }>("and#_b32 and"),
    update<Runs, U, [](U old, U data) { return old | data; }>("or#_b32 or"),
    update<Runs, U, [](U old, U data) { return old ^ data; }>("xor#_b32 xor"),
    update<Runs, U, [](U old, U data) { return (old >= data) ? 0 : old + 1; }>("inc#_u32 inc"),
    update<Runs, U, [](U old, U data) { return (old == 0 || data < old) ? data : old - 1; }>("dec#_u32 dec"),
    update<Runs, U64, [](U64 old, U64 data) { return old + data; }>("add#_u64 add_x2"),
    update<Runs, U64, [](U64 old, U64 data) { return old - data; }>("sub#_u64 sub_x2"),
    update<Runs, I64, [](I64 old, I64 data) { return old < data ? old : data; }>("min#_i64 smin_x2"),
    update<Runs, U64, [](U64 old, U64 data) { return old < data ? old : data; }>("min#_u64 umin_x2"),
    update<Runs, I64, [](I64 old, I64 data) { return old < data ? data : old; }>("max#_i64 smax_x2"),
    update<Runs, U64, [](U64 old, U64 data) { return old < data ? data : old; }>("max#_u64 umax_x2"),
    update<Runs, U64, [](U64 old, U64 data) { return old & data; }>("and#_b64 and_x2"),
    update<Runs, U64, [](U64 old, U64 data) { return old | data; }>("or#_b64 or_x2"),
    update<Runs, U64, [](U64 old, U64 data) { return old ^ data; }>("xor#_b64 xor_x2"),
    update<Runs, float, [](float old, float data) { return old + data; }>("add#_f32"),
    update<Runs, double, [](double old, double data) { return old + data; }>("add#_f64"),
    update<Runs, double, [](double old, double data) { return minimum_number(old, data); }>("min#_f64"),
    update<Runs, double, [](double old, double data) { return maximum_number(old, data); }>("max#_f64"),
    update<Runs, float, [](float old, float data) { return minimum_number(old, data); }>("min#_f32 fmin min_num#_f32"),
    update<Runs, float, [](float old, float data) { return maximum_number(old, data); }>("max#_f32 fmax max_num#_f32"),
    update<Runs, U, [](U old, U data) { return sum_of_halves(old, data); }>("pk_add#_f16"),
    update<Runs, U, [](U old, U data) { return sum_of_bf16(old, data); }>("pk_add#_bf16"),
    update<Runs, U, [](U, U data) { return data; }>("swap swap_b32"),
    update<Runs, U64, [](U64, U64 data) { return data; }>("swap_x2 swap_b64"),
    update<Runs, U, [](U old, U data, U compare) { return old == compare ? data : old; }>("cmpswap cmpswap_b32"),
    update<Runs, U64, [](U64 old, U64 data, U64 compare) { return old == compare ? data : old; }>(
        "cmpswap_x2 cmpswap_b64"),
};

}  // namespace xtune::emulator

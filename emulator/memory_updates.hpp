// The atomic updates of memory, in global memory and in LDS.
#pragma once

#include "emulator/arithmetic.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {

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

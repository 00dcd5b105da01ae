// Global, flat and scratch memory: loads, stores and atomic updates of each lane.
#include <cmath>

#include "emulator/access.hpp"
#include "emulator/memory_updates.hpp"

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

using E = Extension;

template <Space S>
constexpr Operation accesses[] = {
    {"load_dword load_b32", memory_load<S, U, 1, E::none>},
    {"load_dwordx2 load_b64", memory_load<S, U, 2, E::none>},
    {"load_dwordx3 load_b96", memory_load<S, U, 3, E::none>},
    {"load_dwordx4 load_b128", memory_load<S, U, 4, E::none>},
    {"load_ubyte load_u8", memory_load<S, U8, 1, E::none>},
    {"load_sbyte load_i8", memory_load<S, I8, 1, E::none>},
    {"load_ushort load_u16", memory_load<S, U16, 1, E::none>},
    {"load_sshort load_i16", memory_load<S, I16, 1, E::none>},
    {"load_short_d16 load_d16_b16", memory_load<S, U16, 1, E::half_low>},
    {"load_short_d16_hi load_d16_hi_b16", memory_load<S, U16, 1, E::half_high>},
    {"load_ubyte_d16 load_d16_u8", memory_load<S, U8, 1, E::half_low>},
    {"load_ubyte_d16_hi load_d16_hi_u8", memory_load<S, U8, 1, E::half_high>},
    {"load_sbyte_d16 load_d16_i8", memory_load<S, I8, 1, E::half_low>},
    {"load_sbyte_d16_hi load_d16_hi_i8", memory_load<S, I8, 1, E::half_high>},
    {"store_dword store_b32", memory_store<S, U, 1, false>},
    {"store_dwordx2 store_b64", memory_store<S, U, 2, false>},
    {"store_dwordx3 store_b96", memory_store<S, U, 3, false>},
    {"store_dwordx4 store_b128", memory_store<S, U, 4, false>},
    {"store_byte store_b8", memory_store<S, U8, 1, false>},
    {"store_short store_b16", memory_store<S, U16, 1, false>},
    {"store_byte_d16_hi store_d16_hi_b8", memory_store<S, U8, 1, true>},
    {"store_short_d16_hi store_d16_hi_b16", memory_store<S, U16, 1, true>},
};

template <Space S>
struct In {
  template <class T, auto F>
  struct Update {
    static constexpr const char* types = "";
    static constexpr std::initializer_list<Execute> run = {memory_update<S, T, F>};
  };
};

constexpr Operation global_table[] = {
    {"global_load_lds_dword", load_to_lds<U>},    {"global_load_lds_ubyte", load_to_lds<U8>},
    {"global_load_lds_sbyte", load_to_lds<I8>},   {"global_load_lds_ushort", load_to_lds<U16>},
    {"global_load_lds_sshort", load_to_lds<I16>},
};

}  // namespace

const OperationTable global_operations{Kind::global, global_table};
const OperationTable global_accesses{Kind::global, accesses<Space::global>, "global_"};
const OperationTable flat_accesses{Kind::global, accesses<Space::flat>, "flat_"};
const OperationTable scratch_accesses{Kind::scratch, accesses<Space::scratch>, "scratch_"};
const OperationTable global_updates{Kind::global, memory_updates<In<Space::global>::Update>, "global_atomic_"};
const OperationTable flat_updates{Kind::global, memory_updates<In<Space::flat>::Update>, "flat_atomic_"};

}  // namespace xtune::emulator

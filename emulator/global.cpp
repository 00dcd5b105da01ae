// Global, flat and scratch memory: loads, stores and atomic updates of each lane.
#include <cmath>

#include "emulator/memory_tables.hpp"

namespace xtune::emulator {
namespace {

enum class Space { global, flat, scratch };

/// The address of a lane: a vector register or pair, with a scalar base, and the offset of the instruction.
template <Space S>
std::uint64_t lane_address(const Wave& wave, const Instruction& in, int first, int lane) {
  const Operand& vector = in.operand[static_cast<unsigned>(first)];
  std::uint64_t address = static_cast<std::uint64_t>(std::int64_t{in.modifiers.offset});
  if (vector.kind == OperandKind::vector) {
    const std::uint32_t low = address_word(wave, vector.index, lane);
    const bool wide = S != Space::scratch && vector.registers == 2;
    address += wide ? low | std::uint64_t{address_word(wave, vector.index + 1, lane)} << 32 : low;
  }
  if constexpr (S == Space::flat) return address;
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

/// Each lane's element goes to LDS, where M0 and the offset say for the first lane, and 4 bytes further for each next
/// one.
template <class T>
void load_to_lds(Wave& wave, const Instruction& in) {
  const auto first = static_cast<std::int64_t>(wave.scalar[scalar_register::m0] & 0xffffu) + in.modifiers.offset;
  auto copy = std::make_shared<LdsCopy>();
  each_active(wave, [&](int lane) {
    const std::uint64_t address = lane_address<Space::global>(wave, in, 0, lane);
    const T value = load_once<T>(global_place(wave, address, sizeof(T), lane, Use::read));
    const auto place = static_cast<std::uint64_t>(first + 4 * lane);
    lds_place(wave, place, 4, lane, Use::write);
    copy->words.push_back({static_cast<std::uint32_t>(place), word_from<T, Extension::none>(value, 0)});
  });
  settle_lds(wave, true);
  start_copy(wave, std::move(copy));
}

/// The instructions of a space, for its tables. A flat access counts as one of LDS too.
template <Space S>
struct In {
  static void started_load(Wave& wave, const Operand& to) {
    start_load(wave, Counter::vector_memory, to);
    if constexpr (S == Space::flat) start_load(wave, Counter::lds, to);
  }
  static void started_store(Wave& wave) {
    start_store(wave);
    if constexpr (S == Space::flat) start_lds_store(wave);
  }

  template <class T, int Words, Extension E>
  static void load(Wave& wave, const Instruction& in) {
    load_lanes<T, Words, E>(wave, in.operand[0], [&](int lane, std::size_t bytes) {
      return place_in<S>(wave, lane_address<S>(wave, in, 1, lane), bytes, lane, Use::read);
    });
    started_load(wave, target_of<E>(in));
  }

  template <class T, int Words, bool High>
  static void store(Wave& wave, const Instruction& in) {
    store_lanes<T, Words, High>(wave, in.operand[1], [&](int lane, std::size_t bytes) {
      return place_in<S>(wave, lane_address<S>(wave, in, 0, lane), bytes, lane, Use::write);
    });
    if constexpr (S == Space::flat) settle_lds(wave);
    started_store(wave);
  }

  template <class T, auto F>
  struct Update {
    static constexpr const char* types = "";
    static constexpr std::initializer_list<Execute> run = {[](Wave& wave, const Instruction& in) {
      const bool returns = in.operands == (S == Space::flat ? 3 : 4);
      const int first = returns ? 1 : 0;
      const bool swaps_in_lds = S == Space::flat && in.text.starts_with("flat_atomic_cmpswap");
      update_lanes<T, F>(wave, returns ? &in.operand[0] : nullptr, in.operand[static_cast<unsigned>(first + 1)],
                         [&](int lane, std::size_t bytes) {
                           const std::uint64_t address = lane_address<S>(wave, in, first, lane);
                           if (swaps_in_lds && is_shared(address)) confirm_reads(wave, address & 0xffffffff, bytes);
                           return place_in<S>(wave, address, bytes, lane, returns ? Use::fetch : Use::update);
                         });
      returns ? started_load(wave, in.operand[0]) : started_store(wave);
    }};
  };
};

constexpr Operation global_table[] = {
    {"global_load_lds_dword", load_to_lds<U>},    {"global_load_lds_ubyte", load_to_lds<U8>},
    {"global_load_lds_sbyte", load_to_lds<I8>},   {"global_load_lds_ushort", load_to_lds<U16>},
    {"global_load_lds_sshort", load_to_lds<I16>},
};

}  // namespace

const OperationTable global_operations{Kind::global, global_table};
const OperationTable global_accesses{Kind::global, memory_accesses<In<Space::global>>, "global_"};
const OperationTable flat_accesses{Kind::global, memory_accesses<In<Space::flat>>, "flat_"};
const OperationTable scratch_accesses{Kind::scratch, memory_accesses<In<Space::scratch>>, "scratch_"};
const OperationTable global_updates{Kind::global, memory_updates<In<Space::global>::Update>, "global_atomic_"};
const OperationTable flat_updates{Kind::global, memory_updates<In<Space::flat>::Update>, "flat_atomic_"};

}  // namespace xtune::emulator

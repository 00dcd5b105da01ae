// LDS instructions: reads, writes and atomic updates of a workgroup's shared memory, and moves between lanes.
#include <algorithm>
#include <array>

#include "emulator/memory_tables.hpp"

namespace xtune::emulator {
namespace {

/// The sum has 32 bits: compilers use a base before the beginning with an offset that leads behind it.
std::uint64_t lds_address(const Wave& wave, const Operand& from, int offset, int lane) {
  return address_word(wave, from.index, lane) + static_cast<std::uint32_t>(offset);
}

/// Counts the clocks of an access of this many words of each lane.
void count_clocks(const Wave& wave, const Operand& from, int offset, int words) {
  constexpr std::uint64_t banks = 32;
  const std::uint64_t exec = wave.exec();
  const int lanes_at_once = static_cast<int>(banks) / words;
  for (int first = 0; first < wave.lanes; first += lanes_at_once) {
    std::array<std::array<std::uint64_t, banks>, banks> word;  // different ones of each bank
    std::array<std::uint64_t, banks> count{};
    for (int lane = first; lane < std::min(first + lanes_at_once, wave.lanes); ++lane) {
      if (!(exec >> lane & 1)) continue;
      for (int i = 0; i < words; ++i) {
        const std::uint64_t one = lds_address(wave, from, offset, lane) / 4 + static_cast<unsigned>(i);
        auto& of_bank = word[one % banks];
        std::uint64_t& known = count[one % banks];
        if (std::find(of_bank.begin(), of_bank.begin() + known, one) == of_bank.begin() + known) of_bank[known++] = one;
      }
    }
    const std::uint64_t clocks = *std::max_element(count.begin(), count.end());
    wave.group->state->report.lds_clocks += clocks;
    wave.group->state->report.lds_conflicts += clocks > 1 ? clocks - 1 : 0;
  }
}

template <class T, int Words, Extension E>
void read_from(Wave& wave, const Operand& to, const Operand& address, int offset) {
  count_clocks(wave, address, offset, Words);
  load_lanes<T, Words, E>(wave, to, [&](int lane, std::size_t bytes) {
    return lds_place(wave, lds_address(wave, address, offset, lane), bytes, lane, Use::read);
  });
}

template <class T, int Words, bool High>
void write_to(Wave& wave, const Operand& from, const Operand& address, int offset) {
  count_clocks(wave, address, offset, Words);
  store_lanes<T, Words, High>(wave, from, [&](int lane, std::size_t bytes) {
    return lds_place(wave, lds_address(wave, address, offset, lane), bytes, lane, Use::write);
  });
  settle_lds(wave);
}

template <class T, int Words, Extension E>
void ds_read(Wave& wave, const Instruction& in) {
  read_from<T, Words, E>(wave, in.operand[0], in.operand[1], in.modifiers.offset);
  start_load(wave, Counter::lds, target_of<E>(in));
}

template <class T, int Words, bool High>
void ds_write(Wave& wave, const Instruction& in) {
  write_to<T, Words, High>(wave, in.operand[1], in.operand[0], in.modifiers.offset);
  start_lds_store(wave);
}

/// Two places, whose offsets count elements, or 64 of them.
template <int Words, int Stride>
void ds_read2(Wave& wave, const Instruction& in) {
  const Operand &to = in.operand[0], &address = in.operand[1];
  // The half that overwrites the address goes last.
  const bool second_first = address.index >= to.index && address.index < to.index + Words;
  for (const bool second : {second_first, !second_first}) {
    Operand half = to;
    half.index = static_cast<std::uint16_t>(to.index + (second ? Words : 0));
    read_from<U, Words, Extension::none>(wave, half, address, in.modifiers.offsets[second] * 4 * Words * Stride);
  }
  start_load(wave, Counter::lds, to);
}

template <int Words, int Stride>
void ds_write2(Wave& wave, const Instruction& in) {
  for (const unsigned i : {0u, 1u})
    write_to<U, Words, false>(wave, in.operand[1 + i], in.operand[0], in.modifiers.offsets[i] * 4 * Words * Stride);
  start_lds_store(wave);
}

/// Notes an update, whose old value the register of the instruction gets, or nothing.
template <bool Returns>
void start_update(Wave& wave, const Instruction& in) {
  if (Returns)
    start_load(wave, Counter::lds, in.operand[0]);
  else
    start_lds_store(wave);
}

template <class T, auto F, bool Returns>
void ds_update(Wave& wave, const Instruction& in) {
  const unsigned first = Returns ? 1 : 0;
  update_lanes<T, F>(wave, Returns ? &in.operand[0] : nullptr, in.operand[first + 1], [&](int lane, std::size_t bytes) {
    return lds_place(wave, lds_address(wave, in.operand[first], in.modifiers.offset, lane), bytes, lane,
                     Returns ? Use::fetch : Use::update);
  });
  start_update<Returns>(wave, in);
}

/// Compare and swap with two operands. gfx9: compare first; gfx11: data first.
template <class T, bool Returns, bool CompareFirst>
void ds_compare(Wave& wave, const Instruction& in) {
  const unsigned first = Returns ? 1 : 0;
  const Operand& compare = in.operand[first + (CompareFirst ? 1 : 2)];
  const Operand& data = in.operand[first + (CompareFirst ? 2 : 1)];
  each_active(wave, [&](int lane) {
    const std::uint64_t address = lds_address(wave, in.operand[first], in.modifiers.offset, lane);
    confirm_reads(wave, address, sizeof(T));
    std::byte* const at = lds_place(wave, address, sizeof(T), lane, Returns ? Use::fetch : Use::update);
    for (const Operand* const one : {&compare, &data})
      if (wave.undefined.last != 0) require_defined(wave, one->index, one->registers, lane, "the atomic update");
    T old{};
    std::memcpy(&old, at, sizeof old);
    const T next = value_in<T>(wave, data.index, lane);
    if (old == value_in<T>(wave, compare.index, lane)) std::memcpy(at, &next, sizeof next);
    for (unsigned i = 0; Returns && i < sizeof(T) / 4; ++i)
      write_loaded(wave, in.operand[0].index + static_cast<int>(i), lane, std::uint64_t{old} >> (32 * i));
  });
  start_update<Returns>(wave, in);
}

/// The lane that a byte address of LDS permutations names. RDNA2 and RDNA3 permute each half of a wave of 64 itself.
int permuted_lane(const Wave& wave, const Operand& from, int offset, int lane) {
  const std::uint32_t address = wave.row(from.index)[lane] + static_cast<std::uint32_t>(offset);
  const bool halves = wave.generation == Generation::rdna2 || wave.generation == Generation::rdna3;
  const int lanes = halves ? 32 : wave.lanes;
  return (lane & ~(lanes - 1)) | (static_cast<int>(address / 4) & (lanes - 1));
}

/// A lane takes the word of the lane that `from` gives; 0 from inactive ones.
template <class From>
void take_words(Wave& wave, const Instruction& in, const Operand& source, const From& from) {
  const std::uint64_t exec = wave.exec();
  Lanes<std::uint32_t> result{};
  for (int lane = 0; lane < wave.lanes; ++lane) {
    const int other = from(lane);
    result.value[lane] = exec >> other & 1 ? wave.row(source.index)[other] : 0;
  }
  write_row(wave, in.operand[0].index, result.value, exec);
  start_load(wave, Counter::lds, in.operand[0]);
}

/// A lane takes the value of the lane that its address / 4 names.
void ds_bpermute(Wave& wave, const Instruction& in) {
  take_words(wave, in, in.operand[2],
             [&](int lane) { return permuted_lane(wave, in.operand[1], in.modifiers.offset, lane); });
}

/// A lane gives its value to the lane that its address / 4 names; of several, the last one stays.
void ds_permute(Wave& wave, const Instruction& in) {
  Lanes<std::uint32_t> result{};
  each_active(wave, [&](int lane) {
    result.value[permuted_lane(wave, in.operand[1], in.modifiers.offset, lane)] = wave.row(in.operand[2].index)[lane];
  });
  write_row(wave, in.operand[0].index, result.value, wave.exec());
  start_load(wave, Counter::lds, in.operand[0]);
}

/// The offset has a permutation of four lanes, masks for the number of the lane in groups of 32, or a rotation of them.
void ds_swizzle(Wave& wave, const Instruction& in) {
  const int pattern = in.modifiers.offset;
  const bool rotates = (pattern & 0xc000) == 0xc000;
  // From 0xe000 on, patterns are those of an FFT.
  if (pattern >= 0xe000) wave.fault(FaultKind::unknown_instruction, "has a pattern that is not known");
  const int turn = pattern & 0x400 ? 32 - (pattern >> 5 & 31) : pattern >> 5 & 31, kept = pattern & 31;
  take_words(wave, in, in.operand[1], [&](int lane) {
    const int in_group = lane & 31;
    const int moved = rotates            ? (in_group & kept) | ((in_group + turn) & 31 & ~kept)
                      : pattern & 0x8000 ? (in_group & ~3) | (pattern >> (2 * (lane & 3)) & 3)
                                         : ((in_group & pattern) | (pattern >> 5)) ^ (pattern >> 10);
    return (lane & ~31) | (moved & 31);
  });
}

using E = Extension;

template <class T, auto F>
struct LdsUpdate {
  static constexpr const char* types = " _rtn";
  static constexpr std::initializer_list<Execute> run = {ds_update<T, F, false>, ds_update<T, F, true>};
};

constexpr Operation lds_table[] = {
    {"ds_read_b32 ds_load_b32", ds_read<U, 1, E::none>},
    {"ds_read_b64 ds_load_b64", ds_read<U, 2, E::none>},
    {"ds_read_b96 ds_load_b96", ds_read<U, 3, E::none>},
    {"ds_read_b128 ds_load_b128", ds_read<U, 4, E::none>},
    {"ds_read_u8 ds_load_u8", ds_read<U8, 1, E::none>},
    {"ds_read_i8 ds_load_i8", ds_read<I8, 1, E::none>},
    {"ds_read_u16 ds_load_u16", ds_read<U16, 1, E::none>},
    {"ds_read_i16 ds_load_i16", ds_read<I16, 1, E::none>},
    {"ds_read_u16_d16 ds_load_u16_d16", ds_read<U16, 1, E::half_low>},
    {"ds_read_u16_d16_hi ds_load_u16_d16_hi", ds_read<U16, 1, E::half_high>},
    {"ds_read_u8_d16 ds_load_u8_d16", ds_read<U8, 1, E::half_low>},
    {"ds_read_u8_d16_hi ds_load_u8_d16_hi", ds_read<U8, 1, E::half_high>},
    {"ds_read_i8_d16 ds_load_i8_d16", ds_read<I8, 1, E::half_low>},
    {"ds_read_i8_d16_hi ds_load_i8_d16_hi", ds_read<I8, 1, E::half_high>},
    {"ds_read2_b32 ds_load_2addr_b32", ds_read2<1, 1>},
    {"ds_read2_b64 ds_load_2addr_b64", ds_read2<2, 1>},
    {"ds_read2st64_b32 ds_load_2addr_stride64_b32", ds_read2<1, 64>},
    {"ds_read2st64_b64 ds_load_2addr_stride64_b64", ds_read2<2, 64>},
    {"ds_write_b8 ds_store_b8", ds_write<U8, 1, false>},
    {"ds_write_b16 ds_store_b16", ds_write<U16, 1, false>},
    {"ds_write_b8_d16_hi ds_store_b8_d16_hi", ds_write<U8, 1, true>},
    {"ds_write_b16_d16_hi ds_store_b16_d16_hi", ds_write<U16, 1, true>},
    {"ds_write_b32 ds_store_b32", ds_write<U, 1, false>},
    {"ds_write_b64 ds_store_b64", ds_write<U, 2, false>},
    {"ds_write_b96 ds_store_b96", ds_write<U, 3, false>},
    {"ds_write_b128 ds_store_b128", ds_write<U, 4, false>},
    {"ds_write2_b32 ds_store_2addr_b32", ds_write2<1, 1>},
    {"ds_write2_b64 ds_store_2addr_b64", ds_write2<2, 1>},
    {"ds_write2st64_b32 ds_store_2addr_stride64_b32", ds_write2<1, 64>},
    {"ds_write2st64_b64 ds_store_2addr_stride64_b64", ds_write2<2, 64>},
    {"ds_wrxchg_rtn_b32 ds_storexchg_rtn_b32", ds_update<U, [](U, U data) { return data; }, true>},
    {"ds_wrxchg_rtn_b64 ds_storexchg_rtn_b64", ds_update<U64, [](U64, U64 data) { return data; }, true>},
    {"ds_cmpst_b32", ds_compare<U, false, true>},
    {"ds_cmpst_rtn_b32", ds_compare<U, true, true>},
    {"ds_cmpst_b64", ds_compare<U64, false, true>},
    {"ds_cmpst_rtn_b64", ds_compare<U64, true, true>},
    {"ds_cmpstore_b32", ds_compare<U, false, false>},
    {"ds_cmpstore_rtn_b32", ds_compare<U, true, false>},
    {"ds_cmpstore_b64", ds_compare<U64, false, false>},
    {"ds_cmpstore_rtn_b64", ds_compare<U64, true, false>},
    {"ds_bpermute_b32", ds_bpermute},
    {"ds_permute_b32", ds_permute},
    {"ds_swizzle_b32", ds_swizzle},
    {"ds_nop", [](Wave&, const Instruction&) {}, Sources::none},
};

}  // namespace

const OperationTable lds_operations{Kind::lds, lds_table};
const OperationTable lds_updates{Kind::lds, memory_updates<LdsUpdate>, "ds_"};

}  // namespace xtune::emulator

// Reads and writes of LDS, global and scratch memory by single lanes, with their checks.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "emulator/lanes.hpp"

namespace xtune::emulator {

/// Places that a lane accesses. All of them throw Fault for what is outside, and lds_place for what was not written, or
/// what another wave accesses without a barrier in between.
std::byte* global_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane, Use use);
std::byte* lds_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane, Use use);
/// After the writes of an instruction to LDS: throws Fault if one of them raced with another wave and changed a byte.
/// changed: whether all count as changes.
void settle_lds(Wave& wave, bool changed = false);
/// A compare-and-swap of the wave: its reads of these bytes race with nothing.
void confirm_reads(Wave& wave, std::size_t address, std::size_t bytes);
/// Throws Fault for a read that no compare-and-swap has confirmed.
void check_unordered_reads(Wave& wave);
std::byte* scratch_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane);
/// By the apertures.
std::byte* flat_place(Wave& wave, std::uint64_t address, std::size_t bytes, int lane, Use use);

/// Bytes of memory as words of registers: extended to 32 bits, or one half of a register.
enum class Extension { none, sign_low, zero_low, half_low, half_high, sign_half_low, sign_half_high };

/// The register that a load writes, with the half, if it writes only one.
template <Extension E>
Operand target_of(const Instruction& in) {
  Operand to = in.operand[0];
  if constexpr (E == Extension::half_low) to.half = RegisterHalf::low;
  if constexpr (E == Extension::half_high) to.half = RegisterHalf::high;
  return to;
}

/// A value that memory has in `T`, for the register whose word was `old`.
template <class T, Extension E>
constexpr std::uint32_t word_from(T value, std::uint32_t old) {
  if constexpr (E == Extension::half_low)
    return (old & 0xffff0000u) | static_cast<std::uint16_t>(value);
  else if constexpr (E == Extension::half_high)
    return (old & 0xffffu) | std::uint32_t{static_cast<std::uint16_t>(value)} << 16;
  else
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}

/// A value in memory that other threads may update atomically meanwhile, as a GPU reads it: in one piece if aligned.
template <class T>
T load_once(const std::byte* from) {
  if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) == 0)
    return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store_once(std::byte* to, T value) {
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0)
    __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
  else
    std::memcpy(to, &value, sizeof value);
}

/// Words in pieces of 8 bytes where there are pairs at such an address, else of 4.
template <int Words>
void load_words(const std::byte* from, std::uint32_t* words) {
  if (Words % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % 8 == 0)
    for (int i = 0; i + 1 < Words; i += 2) {
      const auto pair = load_once<std::uint64_t>(from + std::size_t{4} * static_cast<unsigned>(i));
      std::memcpy(words + i, &pair, sizeof pair);
    }
  else
    for (int i = 0; i < Words; ++i)
      words[i] = load_once<std::uint32_t>(from + std::size_t{4} * static_cast<unsigned>(i));
}

template <int Words>
void store_words(std::byte* to, const std::uint32_t* words) {
  if (Words % 2 == 0 && reinterpret_cast<std::uintptr_t>(to) % 8 == 0)
    for (int i = 0; i + 1 < Words; i += 2) {
      std::uint64_t pair = 0;
      std::memcpy(&pair, words + i, sizeof pair);
      store_once(to + std::size_t{4} * static_cast<unsigned>(i), pair);
    }
  else
    for (int i = 0; i < Words; ++i) store_once(to + std::size_t{4} * static_cast<unsigned>(i), words[i]);
}

/// Loads Words registers of a lane, or one register from a narrower T. from: nullptr gives 0.
template <class T, int Words, Extension E>
void load_lane(Wave& wave, int row, int lane, const std::byte* from) {
  constexpr std::uint32_t kept = word_from<std::uint16_t, E>(0, ~0u);
  for (int i = 0; i < Words && wave.undefined.last != 0; ++i)
    load_undefined(wave, row + i, lane, from ? from + sizeof(T) * static_cast<unsigned>(i) : from, sizeof(T), kept);
  if constexpr (sizeof(T) == 4) {
    std::uint32_t words[Words] = {};
    if (from != nullptr) load_words<Words>(from, words);
    for (int i = 0; i < Words; ++i) wave.row(row + i)[lane] = words[i];
  } else {
    std::uint32_t& word = wave.row(row)[lane];
    word = word_from<T, E>(from != nullptr ? load_once<T>(from) : T{}, word);
  }
}

/// to: nullptr: nowhere.
template <class T, int Words, bool High>
void store_lane(Wave& wave, int row, int lane, std::byte* to) {
  if (to == nullptr) return;
  for (int i = 0; i < Words && wave.undefined.last != 0; ++i)
    store_undefined(wave, row + i, lane, to + sizeof(T) * static_cast<unsigned>(i), sizeof(T), High);
  if constexpr (sizeof(T) == 4) {
    std::uint32_t words[Words];
    for (int i = 0; i < Words; ++i) words[i] = wave.row(row + i)[lane];
    store_words<Words>(to, words);
  } else {
    store_once(to, static_cast<T>(wave.row(row)[lane] >> (High ? 16 : 0)));
  }
}

/// The same for each active lane. place(lane, bytes) gives the address.
template <class T, int Words, Extension E, class Place>
void load_lanes(Wave& wave, const Operand& to, const Place& place) {
  each_active(wave, [&](int lane) { load_lane<T, Words, E>(wave, to.index, lane, place(lane, sizeof(T) * Words)); });
}
template <class T, int Words, bool High, class Place>
void store_lanes(Wave& wave, const Operand& from, const Place& place) {
  each_active(wave,
              [&](int lane) { store_lane<T, Words, High>(wave, from.index, lane, place(lane, sizeof(T) * Words)); });
}

/// The lower word of a value that memory has at `from`; nullptr: of one that is defined.
inline void write_loaded(Wave& wave, int row, int lane, std::uint64_t value, const std::byte* from = nullptr) {
  wave.row(row)[lane] = static_cast<std::uint32_t>(value);
  if (wave.undefined.last != 0) load_undefined(wave, row, lane, from, 4, 0);
}

/// The register that gives a lane's address.
inline std::uint32_t address_word(const Wave& wave, int row, int lane) {
  if (wave.undefined.last != 0) require_defined(wave, row, 1, lane, "an address");
  return wave.row(row)[lane];
}

/// Replaces what memory has by F(old, data), as one step for all threads, for compare and swap by F(old, data,
/// compare). data: the register of the operand, of two values for compare and swap. to: gets the old value, or nullptr.
template <class T, auto F, class Place>
void update_lanes(Wave& wave, const Operand* to, const Operand& data, const Place& place) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int words = sizeof(T) / 4;
  each_active(wave, [&](int lane) {
    std::byte* const at = place(lane, sizeof(T));
    if (at == nullptr) return;
    if (wave.undefined.last != 0) require_defined(wave, data.index, data.registers, lane, "the atomic update");
    if (reinterpret_cast<std::uintptr_t>(at) % sizeof(T) != 0)
      wave.fault(FaultKind::global_bounds, "updates memory that is not aligned", lane);
    const T first = value_in<T>(wave, data.index, lane);
    const T second = data.registers == 2 * words ? value_in<T>(wave, data.index + words, lane) : T{};
    std::atomic_ref<Bits> shared(*reinterpret_cast<Bits*>(at));
    Bits old = shared.load(std::memory_order_relaxed);
    const auto next = [&](T value) {
      if constexpr (std::is_invocable_v<decltype(F), T, T>)
        return static_cast<T>(F(value, first));
      else
        return static_cast<T>(F(value, first, second));
    };
    while (!shared.compare_exchange_weak(old, std::bit_cast<Bits>(next(std::bit_cast<T>(old))))) {
    }
    for (int i = 0; i < words && to != nullptr; ++i)
      write_loaded(wave, to->index + i, lane, std::uint64_t{old} >> (32 * i));
  });
}

}  // namespace xtune::emulator

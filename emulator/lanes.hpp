// Operands of instructions as values: of all lanes of a wave, or one for the whole wave.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/half.hpp"
#include "emulator/wave.hpp"

namespace xtune::emulator {

template <class T>
struct Lanes {
  alignas(64) T value[64];
};

/// A source that is one bit for each lane: a carry, or the choice of v_cndmask.
struct LaneBit {
  bool set;
};
/// A result with a carry for each lane.
template <class T>
struct WithCarry {
  T value;
  bool carry;
};

template <class T>
constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half>;

inline std::uint32_t real_bits(double real, std::size_t bytes) {
  return bytes == 2 ? half_from(real).bits : std::bit_cast<std::uint32_t>(static_cast<float>(real));
}

/// A constant as an operand of 4 bytes or less, or of 8.
template <class T>
T constant(const Operand& from) {
  if constexpr (sizeof(T) == 8) {
    if (from.kind == OperandKind::real) return std::bit_cast<T>(from.real);
    const auto bits = static_cast<std::uint64_t>(from.integer);
    if (from.kind == OperandKind::integer) return std::bit_cast<T>(bits);
    if constexpr (std::is_same_v<T, double>) return std::bit_cast<T>(bits << 32);
    if constexpr (std::is_same_v<T, std::int64_t>) return static_cast<std::int32_t>(bits);
    return std::bit_cast<T>(bits);
  } else {
    const std::uint32_t bits =
        from.kind == OperandKind::real ? real_bits(from.real, sizeof(T)) : static_cast<std::uint32_t>(from.integer);
    if constexpr (sizeof(T) == 2)
      return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
    else
      return std::bit_cast<T>(bits);
  }
}

/// A source that all lanes share.
template <class T>
T scalar_source(const Wave& wave, const Operand& from) {
  if (from.kind == OperandKind::scc)
    return std::bit_cast<T>(
        static_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>>(wave.scc));
  if (from.kind != OperandKind::scalar) return constant<T>(from);
  if (from.index == scalar_register::null) return T{};
  if constexpr (sizeof(T) == 8) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &wave.scalar[from.index], sizeof bits);
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(wave.scalar[from.index]);
  } else {
    return std::bit_cast<T>(static_cast<std::uint16_t>(wave.scalar[from.index]));
  }
}

inline void write_scalar(Wave& wave, const Operand& to, std::uint32_t value) {
  if (to.index != scalar_register::null) wave.scalar[to.index] = value;
}
inline void write_scalar(Wave& wave, const Operand& to, std::uint64_t value) {
  if (to.index == scalar_register::null) return;
  std::memcpy(&wave.scalar[to.index], &value, sizeof value);
}
/// A result of the scalar unit as its register holds it. 16 bits are followed by zeros.
template <class T>
auto scalar_word(T value) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<std::uint64_t>(value);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::uint32_t{std::bit_cast<std::uint16_t>(value)};
}
/// A bit for each lane: one register in waves of 32, two in waves of 64.
inline void write_lane_bits(Wave& wave, const Operand& to, std::uint64_t bits) {
  if (wave.lanes == 64)
    write_scalar(wave, to, bits);
  else
    write_scalar(wave, to, static_cast<std::uint32_t>(bits));
}
inline std::uint64_t lane_bits(const Wave& wave, const Operand& from) {
  return wave.lanes == 64 ? scalar_source<std::uint64_t>(wave, from) : scalar_source<std::uint32_t>(wave, from);
}

/// Calls f(lane) for each active lane.
template <class F>
void each_active(const Wave& wave, const F& f) {
  const std::uint64_t exec = wave.exec();
  for (int lane = 0; lane < wave.lanes; ++lane)
    if (exec >> lane & 1) f(lane);
}

/// A number in the vector register, or in it and the next one.
template <class T>
T value_in(const Wave& wave, int row, int lane) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(wave.row(row)[lane] | std::uint64_t{wave.row(row + 1)[lane]} << 32);
  else
    return std::bit_cast<T>(wave.row(row)[lane]);
}

/// The 32 bits of each lane, before any modifier but a move between lanes.
void fetch_words(const Wave& wave, const Instruction& in, const Operand& from, int place, std::uint32_t* to);
/// Lanes whose result an instruction writes.
std::uint64_t written_lanes(const Wave& wave, const Instruction& in);
/// The part of each word that SDWA takes.
void take_part(Part part, bool sign_extend, std::uint32_t* words);
/// Puts results of `bytes` bytes where SDWA wants them.
void put_part(const Instruction& in, int bytes, const std::uint32_t* old, std::uint32_t* words);

template <class T>
T with_modifiers(T value, const Operand& from) {
  if constexpr (sizeof(T) == 8) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    if (from.absolute) bits &= ~(std::uint64_t{1} << 63);
    if (from.negative) bits ^= std::uint64_t{1} << 63;
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    if (from.absolute) bits &= 0x7fffffffu;
    if (from.negative) bits ^= 0x80000000u;
    return std::bit_cast<T>(bits);
  } else {
    auto bits = std::bit_cast<std::uint16_t>(value);
    if (from.absolute) bits = static_cast<std::uint16_t>(bits & 0x7fff);
    if (from.negative) bits = static_cast<std::uint16_t>(bits ^ 0x8000);
    return std::bit_cast<T>(bits);
  }
}

/// A denormal number as zero, where MODE says so.
template <class T>
T flushed(const Wave& wave, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (wave.mode.flush32 && std::fabs(value) < 1.17549435e-38f) return std::copysign(0.0f, value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (wave.mode.flush64_16 && std::fabs(value) < 2.2250738585072014e-308) return std::copysign(0.0, value);
  } else if constexpr (std::is_same_v<T, Half>) {
    if (wave.mode.flush64_16 && (value.bits & 0x7c00) == 0)
      return Half{static_cast<std::uint16_t>(value.bits & 0x8000)};
  }
  return value;
}

/// Whether op_sel selects the high half of a register that does not name its half itself. place: of the source; 3: the
/// target.
inline bool selects_high(const Instruction& in, const Operand& operand, int place) {
  return operand.half == RegisterHalf::none && (in.modifiers.op_sel >> place & 1);
}

/// A source for all lanes. place: its number among the sources, for SDWA, DPP and op_sel.
template <class T>
void fetch(const Wave& wave, const Instruction& in, const Operand& from, int place, Lanes<T>& to) {
  if (from.kind == OperandKind::off) wave.fault(FaultKind::unknown_instruction, "has fewer operands than are known");
  if constexpr (std::is_same_v<T, LaneBit>) {
    const std::uint64_t bits = lane_bits(wave, from);
    for (int lane = 0; lane < 64; ++lane) to.value[lane].set = bits >> lane & 1;
    return;
  } else if constexpr (sizeof(T) == 8) {
    if (from.kind == OperandKind::vector) {
      const std::uint32_t *low = wave.row(from.index), *high = wave.row(from.index + 1);
      if (in.modifiers.move && place == 0) {
        Lanes<std::uint32_t> half[2];
        Operand part = from;
        fetch_words(wave, in, part, place, half[0].value);
        ++part.index;
        fetch_words(wave, in, part, place, half[1].value);
        for (int lane = 0; lane < 64; ++lane)
          to.value[lane] = std::bit_cast<T>(half[0].value[lane] | std::uint64_t{half[1].value[lane]} << 32);
      } else {
        for (int lane = 0; lane < 64; ++lane)
          to.value[lane] = std::bit_cast<T>(low[lane] | std::uint64_t{high[lane]} << 32);
      }
    } else {
      const T value = scalar_source<T>(wave, from);
      for (T& each : to.value) each = value;
    }
  } else {
    Lanes<std::uint32_t> words;
    if (from.kind == OperandKind::real) {
      const T value = constant<T>(from);
      for (T& each : to.value) each = value;
    } else {
      fetch_words(wave, in, from, place, words.value);
      if (sizeof(T) == 2 && !in.modifiers.sdwa && selects_high(in, from, place))
        for (std::uint32_t& word : words.value) word >>= 16;
      for (int lane = 0; lane < 64; ++lane) {
        if constexpr (sizeof(T) == 2)
          to.value[lane] = std::bit_cast<T>(static_cast<std::uint16_t>(words.value[lane]));
        else
          to.value[lane] = std::bit_cast<T>(words.value[lane]);
      }
    }
  }
  if constexpr (!std::is_same_v<T, LaneBit>) {
    if (from.negative || from.absolute)
      for (T& each : to.value) each = with_modifiers(each, from);
    if constexpr (is_float<T>)
      if (wave.mode.flush32 || wave.mode.flush64_16)
        for (T& each : to.value) each = flushed(wave, each);
  }
}

/// Writes words to a vector register, in the lanes of the mask.
inline void write_row(Wave& wave, int index, const std::uint32_t* words, std::uint64_t mask) {
  std::uint32_t* const to = wave.row(index);
  if (mask == ~std::uint64_t{0}) {
    std::memcpy(to, words, 64 * sizeof *to);
    return;
  }
  for (int lane = 0; lane < 64; ++lane) to[lane] = mask >> lane & 1 ? words[lane] : to[lane];
}

template <class T>
T scaled_and_clamped(const Wave& wave, const Instruction& in, T value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (in.modifiers.output_scale != 0) value = std::ldexp(value, in.modifiers.output_scale);
    if (in.modifiers.clamp)
      value = std::isnan(value) ? (wave.mode.clamp_nan ? T{0} : value) : value < 0 ? T{0} : value > 1 ? T{1} : value;
  } else if constexpr (std::is_same_v<T, Half>) {
    const double number = scaled_and_clamped(wave, in, to_double(value));
    if (in.modifiers.output_scale != 0 || in.modifiers.clamp) value = half_from(number);
  }
  return flushed(wave, value);
}

/// An instruction of the vector unit that computes one value, from and to a scalar register.
template <auto F, class L, class T>
void scalar_function_of(Wave& wave, const Instruction& in, T (L::*)(T) const) {
  const Operand& from = in.operand[1];
  if (in.modifiers.op_sel != 0) wave.fault(FaultKind::unknown_instruction, "selects a half in a way that is not known");
  const T value = scaled_and_clamped(wave, in, F(flushed(wave, with_modifiers(scalar_source<T>(wave, from), from))));
  write_scalar(wave, in.operand[0], scalar_word(value));
}
template <auto F>
void of_scalar(Wave& wave, const Instruction& in) {
  scalar_function_of<F>(wave, in, &decltype(F)::operator());
}

/// Writes a result to its vector registers.
template <class T>
void write(Wave& wave, const Instruction& in, const Operand& to, Lanes<T>& from) {
  const std::uint64_t mask = written_lanes(wave, in);
  if (to.kind != OperandKind::vector)
    wave.fault(FaultKind::unknown_instruction, "writes a scalar register, which is not known of it");
  if (sizeof(T) != 2 && to.half != RegisterHalf::none)
    wave.fault(FaultKind::unknown_instruction, "writes half of a register, which is not known of it");
  if (!is_float<T> && in.modifiers.clamp)
    wave.fault(FaultKind::unknown_instruction, "clamps an integer, which is not known");
  if constexpr (is_float<T>)
    if (in.modifiers.clamp || in.modifiers.output_scale != 0 || wave.mode.flush32 || wave.mode.flush64_16)
      for (T& each : from.value) each = scaled_and_clamped(wave, in, each);
  if constexpr (sizeof(T) == 8) {
    Lanes<std::uint32_t> low, high;
    for (int lane = 0; lane < 64; ++lane) {
      const auto bits = std::bit_cast<std::uint64_t>(from.value[lane]);
      low.value[lane] = static_cast<std::uint32_t>(bits);
      high.value[lane] = static_cast<std::uint32_t>(bits >> 32);
    }
    write_row(wave, to.index, low.value, mask);
    write_row(wave, to.index + 1, high.value, mask);
  } else {
    Lanes<std::uint32_t> words;
    const std::uint32_t* const old = wave.row(to.index);
    for (int lane = 0; lane < 64; ++lane) {
      if constexpr (sizeof(T) == 2)
        words.value[lane] = std::bit_cast<std::uint16_t>(from.value[lane]);
      else
        words.value[lane] = std::bit_cast<std::uint32_t>(from.value[lane]);
    }
    if (in.modifiers.sdwa) {
      put_part(in, sizeof(T), old, words.value);
    } else if constexpr (sizeof(T) == 2) {
      const bool high = to.half == RegisterHalf::high || selects_high(in, to, 3);
      const bool keeps = wave.generation >= Generation::rdna2 || in.modifiers.op_sel != 0;
      for (int lane = 0; lane < 64; ++lane)
        words.value[lane] = high    ? words.value[lane] << 16 | (old[lane] & 0xffffu)
                            : keeps ? words.value[lane] | (old[lane] & 0xffff0000u)
                                    : words.value[lane];
    }
    write_row(wave, to.index, words.value, mask);
  }
}

/// The sources of a function, by its parameters.
template <auto F, class R, class... A, std::size_t... I>
void vector_call(Wave& wave, const Instruction& in, int first, R* result, std::index_sequence<I...>) {
  std::tuple<Lanes<A>...> source;
  (fetch<A>(wave, in, in.operand[first + static_cast<int>(I)], static_cast<int>(I), std::get<I>(source)), ...);
  for (int lane = 0; lane < 64; ++lane) result[lane] = F(std::get<I>(source).value[lane]...);
}

template <auto F, class L, class R, class... A>
void vector_function(Wave& wave, const Instruction& in, R (L::*)(A...) const) {
  constexpr auto places = std::index_sequence_for<A...>{};
  if constexpr (std::is_same_v<R, bool>) {
    bool result[64];
    // gfx10 and later: v_cmpx has no target but exec.
    const int first = in.operands > static_cast<int>(sizeof...(A)) ? 1 : 0;
    vector_call<F, bool, A...>(wave, in, first, result, places);
    std::uint64_t bits = 0;
    for (int lane = 0; lane < 64; ++lane) bits |= std::uint64_t{result[lane]} << lane;
    bits &= wave.exec();
    if (first == 1) write_lane_bits(wave, in.operand[0], bits);
  } else if constexpr (requires { R{}.carry; }) {
    R result[64];
    vector_call<F, R, A...>(wave, in, 2, result, places);
    Lanes<decltype(R{}.value)> values;
    std::uint64_t bits = 0;
    for (int lane = 0; lane < 64; ++lane) {
      values.value[lane] = result[lane].value;
      bits |= std::uint64_t{result[lane].carry} << lane;
    }
    write(wave, in, in.operand[0], values);
    write_lane_bits(wave, in.operand[1], bits & wave.exec());
  } else {
    Lanes<R> result;
    vector_call<F, R, A...>(wave, in, 1, result.value, places);
    write(wave, in, in.operand[0], result);
  }
}

/// An instruction that computes each lane's result by a function of the lane's sources.
template <auto F>
void each_lane(Wave& wave, const Instruction& in) {
  vector_function<F>(wave, in, &decltype(F)::operator());
}

}  // namespace xtune::emulator

// Conversions between element types and double, bit for bit.
#include "core/spec/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/text.hpp"

namespace xtune {
namespace {

/// Names and bytes, in the order of the enumerators.
constexpr std::pair<const char*, std::size_t> facts[] = {
    {"f8e4m3", 1}, {"f8e5m2", 1}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8},  {"i8", 1},  {"i16", 2},  {"i32", 4},
    {"i64", 8},    {"u8", 1},     {"u16", 2}, {"u32", 4},  {"u64", 8}, {"bool", 1}, {"c64", 8}, {"c128", 16}};
static_assert(std::size(facts) == static_cast<std::size_t>(DType::c128) + 1);

}  // namespace

const char* to_string(DType type) noexcept {
  const auto number = static_cast<std::size_t>(type);
  return number < std::size(facts) ? facts[number].first : "unknown";
}

std::optional<DType> dtype_from_string(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(facts); ++i)
    if (name == facts[i].first) return static_cast<DType>(i);
  return std::nullopt;
}

std::size_t size_of(DType type) noexcept { return facts[static_cast<std::size_t>(type)].second; }

}  // namespace xtune

namespace xtune::spec {

namespace {

template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(T value, std::byte* to) noexcept {
  std::memcpy(to, &value, sizeof value);
}

// A binary floating-point format of up to 16 bits. `nan_only_top` is f8e4m3: the top exponent is used for numbers,
// except its last pattern, which is NaN.
template <class Bits, int Exponent, int Mantissa, bool NanOnlyTop>
struct SmallFloat {
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr int exponent_mask = (1 << Exponent) - 1;
  static constexpr int mantissa_mask = (1 << Mantissa) - 1;
  static constexpr std::uint64_t infinity = std::uint64_t(exponent_mask) << Mantissa;
  static constexpr std::uint64_t nan = NanOnlyTop ? infinity | mantissa_mask : infinity | (1u << (Mantissa - 1));
  static constexpr std::uint64_t first_too_large = NanOnlyTop ? nan : infinity;
  static constexpr std::uint64_t overflow = NanOnlyTop ? nan : infinity;

  static double decode(Bits bits) noexcept {
    const std::uint64_t sign = std::uint64_t(bits >> (Exponent + Mantissa)) << 63;
    const int exponent = (bits >> Mantissa) & exponent_mask;
    const std::uint64_t mantissa = bits & mantissa_mask;
    if (exponent == 0) {
      const double magnitude = static_cast<double>(mantissa) * smallest();
      return sign ? -magnitude : magnitude;
    }
    const bool special = NanOnlyTop ? (bits & (infinity | mantissa_mask)) == nan : exponent == exponent_mask;
    const std::uint64_t wide = special ? 0x7FF : std::uint64_t(exponent - bias + 1023);
    return std::bit_cast<double>(sign | (wide << 52) | (mantissa << (52 - Mantissa)));
  }

  static Bits encode(double value) noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t sign = (bits >> 63) << (Exponent + Mantissa);
    const int wide = static_cast<int>((bits >> 52) & 0x7FF);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    if (wide == 0x7FF) {
      if (fraction == 0) return static_cast<Bits>(sign | overflow);
      const std::uint64_t payload = fraction >> (52 - Mantissa);
      return static_cast<Bits>(sign | (NanOnlyTop || payload == 0 ? nan : infinity | payload));
    }
    if (wide == 0) return static_cast<Bits>(sign);  // below 2^-1022: too small for any of these formats
    // Below the smallest normal number the quantum stays the same, so fewer bits of the significand are kept.
    const int exponent = std::max(wide - 1023, 1 - bias);
    const int shift = 52 - Mantissa + (exponent - (wide - 1023));
    if (shift > 53) return static_cast<Bits>(sign);  // less than half of the smallest number
    const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
    std::uint64_t kept = significand >> shift;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;
    // The significand's leading 1 carries into the exponent field, as does a rounding that overflows the mantissa.
    const std::uint64_t magnitude = (std::uint64_t(exponent + bias - 1) << Mantissa) + kept;
    return static_cast<Bits>(sign | (magnitude >= first_too_large ? overflow : magnitude));
  }

 private:
  static constexpr double smallest() noexcept {
    double value = 1;
    for (int i = 0; i < bias - 1 + Mantissa; ++i) value /= 2;
    return value;
  }
};

using F8E4M3 = SmallFloat<std::uint8_t, 4, 3, true>;
using F8E5M2 = SmallFloat<std::uint8_t, 5, 2, false>;
using F16 = SmallFloat<std::uint16_t, 5, 10, false>;
using BF16 = SmallFloat<std::uint16_t, 8, 7, false>;

// A float-to-double conversion makes a signalling NaN quiet, so NaNs are widened by their bits.
double widen(std::uint32_t bits) noexcept {
  if ((bits & 0x7F800000u) == 0x7F800000u)
    return std::bit_cast<double>((std::uint64_t(bits >> 31) << 63) | (std::uint64_t{0x7FF} << 52) |
                                 (std::uint64_t(bits & 0x7FFFFFu) << 29));
  return static_cast<double>(std::bit_cast<float>(bits));
}

std::uint32_t narrow(double value) noexcept {
  if (!std::isnan(value)) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto payload = static_cast<std::uint32_t>((bits >> 29) & 0x7FFFFFu);
  return (static_cast<std::uint32_t>(bits >> 63) << 31) | 0x7F800000u | (payload ? payload : 0x400000u);
}

// Calls visit with (the element's C++ type, a function from it to double, a function from double to it).
template <class Visit>
decltype(auto) with_type(DType type, Visit&& visit) {
  const auto integer = [&visit](auto zero) -> decltype(auto) {
    using T = decltype(zero);
    return visit(
        zero, [](T value) { return static_cast<double>(value); },
        [](double value) -> T {
          if (std::isnan(value)) return 0;
          // The upper bound is a power of two and so exact, unlike max() of a 64-bit type.
          if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
          if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
          return static_cast<T>(value);
        });
  };
  switch (type) {
    case DType::f8e4m3:
      return visit(std::uint8_t{}, &F8E4M3::decode, &F8E4M3::encode);
    case DType::f8e5m2:
      return visit(std::uint8_t{}, &F8E5M2::decode, &F8E5M2::encode);
    case DType::f16:
      return visit(std::uint16_t{}, &F16::decode, &F16::encode);
    case DType::bf16:
      return visit(std::uint16_t{}, &BF16::decode, &BF16::encode);
    case DType::f32:
      return visit(std::uint32_t{}, &widen, &narrow);
    case DType::i8:
      return integer(std::int8_t{});
    case DType::i16:
      return integer(std::int16_t{});
    case DType::i32:
      return integer(std::int32_t{});
    case DType::i64:
      return integer(std::int64_t{});
    case DType::u8:
      return integer(std::uint8_t{});
    case DType::u16:
      return integer(std::uint16_t{});
    case DType::u32:
      return integer(std::uint32_t{});
    case DType::u64:
      return integer(std::uint64_t{});
    case DType::boolean:
      return visit(
          std::uint8_t{}, [](std::uint8_t value) { return value ? 1.0 : 0.0; },
          [](double value) -> std::uint8_t { return value != 0 ? 1 : 0; });
    case DType::f64:
    case DType::c64:  // conversions of arrays split complex types before
    case DType::c128:
      break;
  }
  return visit(
      std::uint64_t{}, [](std::uint64_t bits) { return std::bit_cast<double>(bits); },
      [](double value) { return std::bit_cast<std::uint64_t>(value); });
}

// Rounds to odd if 53 bits cannot represent the value, so that the result is correct after the following rounding to a
// shorter format.
double to_double_by_odd(std::int64_t value) noexcept {
  std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int extra = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 53);
  const std::uint64_t lost = magnitude & ((std::uint64_t{1} << extra) - 1);
  magnitude = (magnitude >> extra) | (lost ? 1 : 0);
  const double result = std::ldexp(static_cast<double>(magnitude), extra);
  return value < 0 ? -result : result;
}

}  // namespace

std::string did_you_mean_dtype(std::string_view word) {
  // The names in C++, CUDA, NumPy and PyTorch.
  constexpr std::pair<const char*, const char*> others[] = {{"float", "f32"},        {"double", "f64"},
                                                            {"half", "f16"},         {"__half", "f16"},
                                                            {"fp32", "f32"},         {"fp64", "f64"},
                                                            {"fp16", "f16"},         {"bfloat16", "bf16"},
                                                            {"float32", "f32"},      {"float64", "f64"},
                                                            {"float16", "f16"},      {"__nv_bfloat16", "bf16"},
                                                            {"nv_bfloat16", "bf16"}, {"__hip_bfloat16", "bf16"},
                                                            {"int", "i32"},          {"long", "i64"},
                                                            {"short", "i16"},        {"char", "i8"},
                                                            {"int8", "i8"},          {"int16", "i16"},
                                                            {"int32", "i32"},        {"int64", "i64"},
                                                            {"int8_t", "i8"},        {"int16_t", "i16"},
                                                            {"int32_t", "i32"},      {"int64_t", "i64"},
                                                            {"uint8", "u8"},         {"uint16", "u16"},
                                                            {"uint32", "u32"},       {"uint64", "u64"},
                                                            {"uint8_t", "u8"},       {"uint16_t", "u16"},
                                                            {"uint32_t", "u32"},     {"uint64_t", "u64"},
                                                            {"unsigned", "u32"},     {"size_t", "u64"},
                                                            {"complex64", "c64"},    {"complex128", "c128"},
                                                            {"boolean", "bool"},     {"fp8e4m3", "f8e4m3"}};
  for (const auto& [other, own] : others)
    if (word == other) return std::string(" (did you mean '") + own + "'?)";
  std::vector<std::string> names;
  for (const auto& [name, bytes] : facts) names.emplace_back(name);
  return base::did_you_mean(word, names);
}

bool is_floating(DType type) noexcept { return type <= DType::f64 || is_complex(type); }

bool is_complex(DType type) noexcept { return type == DType::c64 || type == DType::c128; }

DType part_of(DType type) noexcept { return type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type; }

double decode(DType type, const std::byte* element) noexcept {
  double value = 0;
  decode(type, element, {&value, 1});
  return value;
}

void decode(DType type, const std::byte* elements, std::span<double> values) noexcept {
  const std::size_t parts = is_complex(type) ? 2 : 1;
  with_type(part_of(type), [&](auto zero, auto from, auto) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = from(load<T>(elements + i * parts * sizeof(T)));
  });
}

void encode(DType type, double value, std::byte* element) noexcept {
  if (is_complex(type)) std::memset(element, 0, size_of(type));
  with_type(part_of(type), [&](auto, auto, auto to) { store(to(value), element); });
}

void encode(DType type, std::int64_t value, std::byte* element) noexcept {
  switch (type) {
    case DType::i64:
      return store(value, element);
    case DType::u64:
      return store(value < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(value), element);
    case DType::f64:
      return store(static_cast<double>(value), element);
    default:
      return encode(type, to_double_by_odd(value), element);
  }
}

}  // namespace xtune::spec

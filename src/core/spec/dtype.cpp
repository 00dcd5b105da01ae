// Conversions between element types and double, bit for bit.
#include "core/spec/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
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
template <class BitsType, int Exponent, int Mantissa, bool NanOnlyTop>
struct SmallFloat {
  using Bits = BitsType;
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
      const double magnitude = static_cast<double>(mantissa) * power_of_two(1 - bias - Mantissa);
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
    // Below the smallest normal number the quantum stays the same. The division is exact.
    const int exponent = std::max(wide - 1023, 1 - bias);
    const double quanta = std::nearbyint(std::abs(value) / power_of_two(exponent - Mantissa));
    // The significand's leading 1 carries into the exponent field, as does a rounding that overflows the mantissa.
    const std::uint64_t magnitude =
        (std::uint64_t(exponent + bias - 1) << Mantissa) + static_cast<std::uint64_t>(quanta);
    return static_cast<Bits>(sign | (magnitude >= first_too_large ? overflow : magnitude));
  }

 private:
  static constexpr double power_of_two(int exponent) noexcept {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }
};

using F8E4M3 = SmallFloat<std::uint8_t, 4, 3, true>;
using F8E5M2 = SmallFloat<std::uint8_t, 5, 2, false>;
using F16 = SmallFloat<std::uint16_t, 5, 10, false>;
using BF16 = SmallFloat<std::uint16_t, 8, 7, false>;

// A float-to-double conversion makes a signalling NaN quiet, so NaNs are widened by their bits.
struct F32 {
  using Bits = std::uint32_t;
  static double decode(Bits bits) noexcept {
    if ((bits & 0x7F800000u) == 0x7F800000u)
      return std::bit_cast<double>((std::uint64_t(bits >> 31) << 63) | (std::uint64_t{0x7FF} << 52) |
                                   (std::uint64_t(bits & 0x7FFFFFu) << 29));
    return static_cast<double>(std::bit_cast<float>(bits));
  }
  static Bits encode(double value) noexcept {
    if (!std::isnan(value)) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto payload = static_cast<std::uint32_t>((bits >> 29) & 0x7FFFFFu);
    return (static_cast<std::uint32_t>(bits >> 63) << 31) | 0x7F800000u | (payload ? payload : 0x400000u);
  }
};

struct F64 {
  using Bits = std::uint64_t;
  static double decode(Bits bits) noexcept { return std::bit_cast<double>(bits); }
  static Bits encode(double value) noexcept { return std::bit_cast<Bits>(value); }
};

template <class T>
struct Integer {
  using Bits = T;
  static double decode(T value) noexcept { return static_cast<double>(value); }
  static T encode(double value) noexcept {
    if (std::isnan(value)) return 0;
    // The upper bound is a power of two and so exact, unlike max() of a 64-bit type.
    if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  }
};

struct Boolean {
  using Bits = std::uint8_t;
  static double decode(Bits value) noexcept { return value ? 1.0 : 0.0; }
  static Bits encode(double value) noexcept { return value != 0 ? 1 : 0; }
};

/// In the order of the enumerators, up to the complex types, which consist of two elements.
using Forms = std::tuple<F8E4M3, F8E5M2, F16, BF16, F32, F64, Integer<std::int8_t>, Integer<std::int16_t>,
                         Integer<std::int32_t>, Integer<std::int64_t>, Integer<std::uint8_t>, Integer<std::uint16_t>,
                         Integer<std::uint32_t>, Integer<std::uint64_t>, Boolean>;
static_assert(std::tuple_size_v<Forms> == static_cast<std::size_t>(DType::c64));

/// Calls visit with the form of a type that is not complex.
template <class Visit>
void with_form(DType type, const Visit& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(
        ((static_cast<std::size_t>(type) == I ? (visit(std::tuple_element_t<I, Forms>()), true) : false) || ...));
  }
  (std::make_index_sequence<std::tuple_size_v<Forms>>());
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
  constexpr std::string_view others =
      "float=f32 double=f64 half=f16 __half=f16 fp32=f32 fp64=f64 fp16=f16 bfloat16=bf16 float32=f32 float64=f64 "
      "float16=f16 __nv_bfloat16=bf16 nv_bfloat16=bf16 __hip_bfloat16=bf16 int=i32 long=i64 short=i16 char=i8 int8=i8 "
      "int16=i16 int32=i32 int64=i64 int8_t=i8 int16_t=i16 int32_t=i32 int64_t=i64 uint8=u8 uint16=u16 uint32=u32 "
      "uint64=u64 uint8_t=u8 uint16_t=u16 uint32_t=u32 uint64_t=u64 unsigned=u32 size_t=u64 complex64=c64 "
      "complex128=c128 boolean=bool fp8e4m3=f8e4m3";
  for (const std::string& other : base::split(std::string(others), ' '))
    if (const std::size_t equals = other.find('='); other.substr(0, equals) == word)
      return " (did you mean '" + other.substr(equals + 1) + "'?)";
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
  with_form(part_of(type), [&](auto form) {
    using Bits = typename decltype(form)::Bits;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = form.decode(load<Bits>(elements + i * parts * sizeof(Bits)));
  });
}

void encode(DType type, double value, std::byte* element) noexcept {
  if (is_complex(type)) std::memset(element, 0, size_of(type));
  with_form(part_of(type), [&](auto form) { store(form.encode(value), element); });
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

bool encode_scalar(DType type, const Value& value, std::byte* element) {
  if (const auto* digits = std::get_if<std::string>(&value)) {  // an integer above 2^63 - 1 (space::expr::Scalar)
    std::uint64_t large = 0;
    const auto [stop, error] = std::from_chars(digits->data(), digits->data() + digits->size(), large);
    if (error != std::errc() || stop != digits->data() + digits->size() || large >> 63 == 0) return false;
    if (is_floating(type)) return encode_scalar(type, static_cast<double>(large), element);
    std::memcpy(element, &large, size_of(type));
    return type == DType::u64;
  }
  if (const auto* number = std::get_if<double>(&value)) {
    encode(type, *number, element);
    const double encoded = decode(type, element);
    // Beyond 64 bits they are clamped to a limit that a double rounds back.
    if (!is_floating(type) && !(std::abs(*number) < (type == DType::u64 ? 0x1p64 : 0x1p63)) && *number != -0x1p63)
      return false;
    // A float is accepted for an integer argument if nothing is lost: M / 2 is a float in this language.
    const bool rounds = is_floating(type) && std::isfinite(*number);
    return rounds ? std::isfinite(encoded) : encoded == *number || (std::isnan(encoded) && std::isnan(*number));
  }
  const auto* integer = std::get_if<std::int64_t>(&value);
  const std::int64_t whole = integer ? *integer : std::get<bool>(value);
  encode(type, whole, element);
  if (type == DType::i64 || type == DType::u64) return type == DType::i64 || whole >= 0;
  const double encoded = decode(type, element);
  return is_floating(type) ? std::isfinite(encoded) : encoded == static_cast<double>(whole);
}

std::optional<std::vector<std::byte>> encode_scalar(DType type, const Value& value) {
  std::vector<std::byte> bytes(size_of(type));
  return encode_scalar(type, value, bytes.data()) ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace xtune::spec

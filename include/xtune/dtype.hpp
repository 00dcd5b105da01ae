// Element types of kernel arguments.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace xtune {

/// The type of an element. f8e4m3 is OCP's "fn" form: largest finite value 448, NaN 0x7F and 0xFF, no infinity. f8e5m2
/// has IEEE's infinities and NaNs. c64 and c128 are complex: two f32 or two f64, the real part first (NumPy's complex64
/// and complex128).
enum class DType {
  f8e4m3,   ///< 8-bit float, 4 bits of exponent
  f8e5m2,   ///< 8-bit float, 5 bits of exponent
  f16,      ///< IEEE half precision
  bf16,     ///< the upper half of an f32
  f32,      ///< float
  f64,      ///< double
  i8,       ///< std::int8_t
  i16,      ///< std::int16_t
  i32,      ///< std::int32_t
  i64,      ///< std::int64_t
  u8,       ///< std::uint8_t
  u16,      ///< std::uint16_t
  u32,      ///< std::uint32_t
  u64,      ///< std::uint64_t
  boolean,  ///< bool, one byte
  c64,      ///< std::complex<float>
  c128      ///< std::complex<double>
};

const char* to_string(DType type) noexcept;                              ///< as the spec writes it: "f16", "bool"
std::optional<DType> dtype_from_string(std::string_view name) noexcept;  ///< the inverse of to_string
std::size_t size_of(DType type) noexcept;                                ///< bytes of one element

/// The DType of a C++ type. f16, bf16 and the 8-bit floats have no C++ type here, so pass their DType by name.
template <class T>
constexpr DType dtype_of() {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::same_as<Plain, float>) {
    return DType::f32;
  } else if constexpr (std::same_as<Plain, double>) {
    return DType::f64;
  } else if constexpr (std::same_as<Plain, bool>) {
    return DType::boolean;
  } else if constexpr (std::same_as<Plain, std::complex<float>>) {
    return DType::c64;
  } else if constexpr (std::same_as<Plain, std::complex<double>>) {
    return DType::c128;
  } else {
    static_assert(std::integral<Plain> && sizeof(Plain) <= 8,
                  "dtype_of: no DType is this type's own; name the DType (f16, bf16, f8e4m3, f8e5m2) and give bytes");
    constexpr bool is_signed = std::is_signed_v<Plain>;
    if constexpr (sizeof(Plain) == 1) return is_signed ? DType::i8 : DType::u8;
    if constexpr (sizeof(Plain) == 2) return is_signed ? DType::i16 : DType::u16;
    if constexpr (sizeof(Plain) == 4) return is_signed ? DType::i32 : DType::u32;
    return is_signed ? DType::i64 : DType::u64;
  }
}

}  // namespace xtune

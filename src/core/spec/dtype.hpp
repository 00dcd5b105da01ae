// Element types of kernel arguments, and their conversion from and to double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace xtune {

/// f8e4m3 is OCP's "fn" form: largest finite value 448, NaN 0x7F and 0xFF, no infinity. f8e5m2 has IEEE's infinities
/// and NaNs. c64 and c128 are complex: two f32 or two f64, the real part first (NumPy's complex64 and complex128).
enum class DType { f8e4m3, f8e5m2, f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean, c64, c128 };

const char* to_string(DType type) noexcept;  ///< as the spec writes it: "f16", "bool"
std::optional<DType> dtype_from_string(std::string_view name) noexcept;
std::size_t size_of(DType type) noexcept;  ///< bytes of one element
bool is_floating(DType type) noexcept;     ///< complex types too
bool is_complex(DType type) noexcept;
DType part_of(DType type) noexcept;  ///< f32 of c64, f64 of c128, else the type itself

/// One element read as a double, of a complex one its real part. Exact for every type but i64 and u64, which round to
/// nearest beyond 2^53. A NaN keeps its payload.
double decode(DType type, const std::byte* element) noexcept;
/// Reads values.size() elements that lie one after another at elements, which need not be aligned.
void decode(DType type, const std::byte* elements, std::span<double> values) noexcept;

/// Stores value as one element, whose imaginary part, if it has one, is 0. Floats round once, to nearest even. What is
/// too large becomes infinity, or in f8e4m3, which has none, NaN (OCP 8-bit Floating Point Specification 1.0,
/// section 5.2.1, non-saturating mode). Integers truncate and clamp to their range, and a NaN becomes 0; a boolean is 1
/// for every value but zero.
void encode(DType type, double value, std::byte* element) noexcept;
/// Exact store of a 64-bit integer into an integer type (clamped), or rounded once into a float type.
void encode(DType type, std::int64_t value, std::byte* element) noexcept;

}  // namespace xtune

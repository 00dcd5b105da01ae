// Element types of kernel arguments, and their conversion from and to double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace xtune {

enum class DType { f8e4m3, f8e5m2, f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

const char* to_string(DType type) noexcept;  ///< as the spec writes it: "f16", "bool"
std::optional<DType> dtype_from_string(std::string_view name) noexcept;
std::size_t size_of(DType type) noexcept;  ///< bytes of one element
bool is_floating(DType type) noexcept;

/// One element read as a double. 64-bit integers beyond 2^53 round to nearest.
double decode(DType type, const std::byte* element) noexcept;
/// Stores value as one element: floats round to nearest even (f8e4m3 saturates to NaN as OCP FP8 says), integers truncate and
/// clamp to their range.
void encode(DType type, double value, std::byte* element) noexcept;
/// Exact store of a 64-bit integer into an integer type (clamped), or rounded into a float type.
void encode(DType type, std::int64_t value, std::byte* element) noexcept;

}  // namespace xtune

// Kinds of element types, and the conversion of elements from and to double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "xtune/dtype.hpp"

namespace xtune::spec {

/// What an unknown element type was meant to be: " (did you mean 'f32'?)" for "float" and "float32"; empty where
/// nothing is near.
std::string did_you_mean_dtype(std::string_view word);

bool is_floating(DType type) noexcept;  ///< complex types too
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

}  // namespace xtune::spec

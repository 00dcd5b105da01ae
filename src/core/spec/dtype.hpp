// Kinds of element types, and the conversion of elements from and to double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "xtune/dtype.hpp"
#include "xtune/value.hpp"

namespace xtune::spec {

/// A suggestion for an unknown element type: " (did you mean 'f32'?)" for "float" and "float32"; empty if nothing is
/// similar.
std::string did_you_mean_dtype(std::string_view word);

bool is_floating(DType type) noexcept;  ///< true for complex types, too
bool is_complex(DType type) noexcept;
DType part_of(DType type) noexcept;  ///< f32 for c64, f64 for c128, else the type itself

/// Reads one element as a double; the real part of a complex one. Exact for every type except i64 and u64, which round
/// to nearest beyond 2^53. A NaN keeps its payload.
double decode(DType type, const std::byte* element) noexcept;
/// Reads values.size() contiguous elements, which need not be aligned.
void decode(DType type, const std::byte* elements, std::span<double> values) noexcept;

/// Stores value as one element; the imaginary part, if there is one, is 0. Floats round once, to nearest even. A value
/// that is too large becomes infinity, or NaN in f8e4m3, which has no infinity (OCP 8-bit Floating Point Specification
/// 1.0, section 5.2.1, non-saturating mode). Integers truncate and clamp to their range, and a NaN becomes 0; a boolean
/// is 1 for every value except zero.
void encode(DType type, double value, std::byte* element) noexcept;
/// Stores a 64-bit integer exactly in an integer type (clamped), or rounded once in a float type.
void encode(DType type, std::int64_t value, std::byte* element) noexcept;

/// Stores the value of an expression as one element. Returns false if it does not fit the type, or is a text.
bool encode_scalar(DType type, const Value& value, std::byte* element);
/// The same element. nullopt: it does not fit.
std::optional<std::vector<std::byte>> encode_scalar(DType type, const Value& value);

}  // namespace xtune::spec

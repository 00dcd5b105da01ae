// Makes input data by fill rule, reproducibly, and poison for outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/spec/spec.hpp"

namespace xtune {

/// An argument with its shape worked out for one problem.
struct ArgumentLayout {
  std::string name;
  ArgRole role = ArgRole::in;
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  Fill fill = Fill::automatic;
  std::filesystem::path file;  ///< absolute .npy, instead of fill
  std::uint64_t elements() const noexcept;
  std::uint64_t bytes() const noexcept;
};

/// Fills data (layout.bytes() long). Each element depends on seed, argument name and index alone, so the result is the same on
/// any number of threads. automatic: unsigned integers [0,3), signed [-2,3), floats uniform (-1,1), fp8 small integers, bool 0/1.
/// A file must have the layout's shape and dtype: else Error(invalid_argument) that names both.
void fill_input(const ArgumentLayout& layout, std::uint64_t seed, std::span<std::byte> data);

/// The byte that poisons outputs before validation: read as any float type it is a NaN, as an integer a large odd value.
inline constexpr std::byte poison_byte{0xFF};
/// The byte and size of the guard zone after every buffer.
inline constexpr std::byte guard_byte{0xA5};
inline constexpr std::size_t guard_bytes = 4096;

}  // namespace xtune

// Reads and writes NumPy .npy files (format version 1 to 3;
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/spec/dtype.hpp"

namespace xtune {

struct NpyArray {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> data;  ///< C order, little endian
};

/// bf16 and fp8 have no NumPy type: they are written as u2 / u1 arrays, and read back as u16 / u8. This is the type
/// that a file of `type` has.
DType npy_storage(DType type) noexcept;

/// Throws Error(io) for a missing, truncated, overlong or foreign file, Error(unsupported) for Fortran order (of two
/// dimensions or more), big endian, structured or other dtypes. Memory is asked for only after the file's size has
/// proved that it is needed.
NpyArray read_npy(const std::filesystem::path& path);
/// Writes version 1.0, at once or not at all. Throws Error(io); std::invalid_argument when data is not as long as shape
/// says.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace xtune

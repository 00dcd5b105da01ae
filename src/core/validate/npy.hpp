// Reads and writes NumPy .npy files (format version 1 to 3;
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/spec/dtype.hpp"

namespace xtune::validate {

struct NpyArray {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> data;  ///< C order, little endian
};

/// bf16 and fp8 have no NumPy type: they are written as u2 / u1 arrays, and read back as u16 / u8. This is the type
/// that a file of `type` has.
DType npy_storage(DType type) noexcept;

/// What a file says of itself, before any of its data is read.
struct NpyHeader {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< of the data
  std::uint64_t bytes = 0;   ///< of data; the file is as long
};

/// Throws as read_npy does.
NpyHeader read_npy_header(const std::filesystem::path& path);
/// Reads the data into `data`, which is header.bytes long: no second copy of them is made. Throws Error(io).
void read_npy_data(const std::filesystem::path& path, const NpyHeader& header, std::span<std::byte> data);

/// Throws Error(io) for a missing, truncated, overlong or foreign file, Error(unsupported) for Fortran order (of two
/// dimensions or more), big endian, structured or other dtypes. Memory is asked for only after the file's size has
/// proved that it is needed.
NpyArray read_npy(const std::filesystem::path& path);
/// Writes version 1.0, at once or not at all. Throws Error(io); std::invalid_argument when data is not as long as shape
/// says.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace xtune::validate

// Reads and writes NumPy .npy files (format version 1 to 3;
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/spec/dtype.hpp"

namespace xtune::validate {

struct NpyArray {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> data;  ///< C order, little endian
};

/// The type in a file for elements of `type`. bf16 and fp8 have no NumPy type: they are written as u2 / u1 arrays, and
/// read back as u16 / u8.
DType npy_storage(DType type) noexcept;

/// The header of a file, read before any of its data.
struct NpyHeader {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< where the data begins
  std::uint64_t bytes = 0;   ///< length of the data; the file has no more
};

/// Throws as read_npy does.
NpyHeader read_npy_header(const std::filesystem::path& path);
/// Reads the data into `data`, which is header.bytes long, without a second copy. Throws Error(io).
void read_npy_data(const std::filesystem::path& path, const NpyHeader& header, std::span<std::byte> data);

/// Throws Error(io) for a missing, truncated, overlong or foreign file, Error(unsupported) for Fortran order (of two
/// dimensions or more), big endian, structured or other dtypes. Allocates memory only after the file's size has shown
/// that it is needed.
NpyArray read_npy(const std::filesystem::path& path);
/// Writes version 1.0, atomically. Throws Error(io); std::invalid_argument if the length of data does not match the
/// shape.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace xtune::validate

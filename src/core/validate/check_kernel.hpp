// The kernel that processes arguments in device memory: fills, copies, compares and sums them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/build/artifact.hpp"
#include "core/spec/dtype.hpp"
#include "core/validate/tolerance.hpp"

namespace xtune::validate {

/// One operation of the kernel on a range of device memory, faster if that starts at a multiple of 16 bytes. The layout
/// is the one that the kernel reads.
struct CheckItem {
  enum Operation : std::uint32_t { add_up, compare, copy, fill };
  std::uint32_t operation = add_up;
  // For compare: the structure of an element. Exponent bits of 0: not a float.
  std::uint32_t part_bytes = 0, parts = 0, exponent_bits = 0, mantissa_bits = 0, top_is_nan = 0;
  std::uint64_t address = 0;  ///< range to add up, compare or write
  std::uint64_t other = 0;    ///< address of the expected or copied bytes; for fill, the eight bytes to repeat
  std::uint64_t bytes = 0;
  double atol = 0, rtol = 0;
  /// For compare: the address of an atol for each row of row_bytes, at least 16, instead of atol; 0: none.
  std::uint64_t row_atol = 0, row_bytes = 0;
};

/// The kernel's result for an item.
struct CheckResult {
  std::uint64_t sum = 0;  ///< for add_up: checksum() of the bytes
  /// For compare: elements that differ by more than the tolerance, or differ and are not finite floats. Elements with
  /// equal bits agree.
  std::uint64_t differing = 0;
  double max_abs_error = 0, max_rel_error = 0;  ///< as in Comparison, if nothing differs
};

/// Compares one argument with its expected contents. row_atol: the address of a copy of tolerance.row_atol, if that is
/// not empty.
CheckItem compare_item(DType type, std::uint64_t actual, std::uint64_t expected, std::uint64_t bytes,
                       const Tolerance& tolerance, std::uint64_t row_atol = 0);

/// A 64-bit hash that shows whether memory has the expected contents. Different contents agree with a probability of
/// 2^-64 by accident; it does not protect against intent. Uses all cores.
std::uint64_t checksum(std::span<const std::byte> bytes);

namespace check_kernel {
/// The kernel's name. Its parameters: (const CheckItem* items, CheckResult* results). Row y of the grid processes
/// items[y] and adds to results[y], which starts as zeros; the blocks of a row share the work.
inline constexpr const char* name = "xtune_check";
inline constexpr unsigned block_threads = 256;
inline constexpr std::uint64_t unit_bytes = 16;  ///< bytes that a thread handles at a time
}  // namespace check_kernel

extern const std::string_view check_kernel_cu;  ///< the kernel's text
build::CompileRequest check_request(const std::string& arch);

}  // namespace xtune::validate

// The kernel that looks after arguments where they lie: fills, copies, compares and sums them up on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/build/artifact.hpp"
#include "core/spec/dtype.hpp"
#include "core/validate/tolerance.hpp"

namespace xtune::validate {

/// One thing for the kernel to do with a range of device memory, faster where that starts at a multiple of 16 bytes.
/// The layout is the one that the kernel reads.
struct CheckItem {
  enum Operation : std::uint32_t { add_up, compare, copy, fill };
  std::uint32_t operation = add_up;
  // Of compare: how an element is made up. Exponent bits of 0 are no float.
  std::uint32_t part_bytes = 0, parts = 0, exponent_bits = 0, mantissa_bits = 0, top_is_nan = 0;
  std::uint64_t address = 0;  ///< what is added up, compared, or written
  std::uint64_t other = 0;    ///< the address of what is expected or copied; of fill, the eight bytes to repeat
  std::uint64_t bytes = 0;
  double atol = 0, rtol = 0;
};

/// What the kernel found out about an item.
struct CheckResult {
  std::uint64_t sum = 0;  ///< of add_up: checksum() of the bytes
  /// Of compare: elements that differ by more than the tolerance, or differ and are no finite floats. What is the same
  /// bit for bit agrees.
  std::uint64_t differing = 0;
  double max_abs_error = 0, max_rel_error = 0;  ///< as Comparison has them, where nothing differs
};

/// Of one argument against what is expected of it.
CheckItem compare_item(DType type, std::uint64_t actual, std::uint64_t expected, std::uint64_t bytes,
                       const Tolerance& tolerance);

/// Tells by its 64 bits whether memory holds what it should. Two that differ by accident agree with a chance of 2^-64;
/// it is no protection against intent. Uses all cores.
std::uint64_t checksum(std::span<const std::byte> bytes);

namespace check_kernel {
/// Its name, and its parameters: (const CheckItem* items, CheckResult* results). Row y of the grid does items[y] and
/// adds to results[y], which starts as zeros; the blocks of a row share the work.
inline constexpr const char* name = "xtune_check";
inline constexpr unsigned block_threads = 256;
inline constexpr std::uint64_t unit_bytes = 16;  ///< that a thread handles at a time
}  // namespace check_kernel

build::CompileRequest check_request(const std::string& arch);

}  // namespace xtune::validate

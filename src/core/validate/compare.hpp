// Compares outputs with their reference, and with those of other launches; and whether a reference can be used for
// that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/spec/dtype.hpp"
#include "core/validate/inputs.hpp"
#include "core/validate/tolerance.hpp"

namespace xtune::validate {

/// The result of one comparison, for one output argument.
struct Comparison {
  std::string output;  ///< the argument's name
  bool passed = true;
  std::uint64_t count = 0, mismatched = 0, nans = 0;  ///< nans: where the reference has no NaN
  std::uint64_t infinities = 0;                       ///< where the reference is finite
  std::uint64_t outliers = 0;  ///< mismatches beyond outlier_factor times the tolerance, or without a finite size
  /// Elements that still contain the poison, but not in the reference. Without a reference, nothing else is counted.
  std::uint64_t unwritten = 0;
  std::optional<std::uint64_t> first_index;      ///< flat index of the first mismatch
  std::vector<std::uint64_t> first_coordinates;  ///< in the argument's shape
  double actual = 0, expected = 0;               ///< at first_index; may be NaN or infinite
  double actual_imaginary = 0, expected_imaginary = 0;
  double max_abs_error = 0;  ///< over finite pairs
  double max_rel_error = 0;  ///< over finite pairs whose expected value is not 0
  Tolerance tolerance;       ///< that of first_index, or the one with the largest atol
  /// "C: 12 of 4096 elements differ (0.29 %, 0 allowed); first at [3, 17]: got nan, expected 1.5; max abs error ...,
  /// rel ..."
  std::string text() const;
  bool has_reference() const noexcept { return unwritten == 0 || mismatched > 0; }
};

/// The coordinates of a flat index in an array of this shape.
std::vector<std::uint64_t> coordinates_of(std::uint64_t index, std::span<const std::uint64_t> shape);

/// "1.5", or "1.5-2i" for a complex element.
std::string element_text(DType type, const std::byte* element);

/// How many of count elements may differ: floor(count * ratio); a product that is below an integer only because of
/// rounding counts as that integer.
std::uint64_t allowed_mismatches(std::uint64_t count, double ratio) noexcept;

/// Compares element by element with the tolerance. NaN or infinity where the reference has a finite number never
/// passes, for any ratio. If the reference is NaN, only NaN agrees. If it contains the poison of a float, which means
/// that it did not write the element, only the same bits agree. An infinity agrees only with itself. Mismatches that
/// the ratio allows must still be within outlier_factor times the tolerance, or within that many steps of the type (1
/// for integers, the distance of neighbouring numbers for floats) if those are larger; a number instead of NaN or
/// infinity is not allowed. Complex numbers are compared by the magnitude of their difference; one is NaN if a part of
/// it is. Integers are compared without rounding. Both spans must have whole elements of the type and the number of
/// elements of the shape, else it throws std::invalid_argument. Uses all cores.
Comparison compare(const std::string& output, DType type, std::span<const std::byte> actual,
                   std::span<const std::byte> expected, std::span<const std::uint64_t> shape,
                   const Tolerance& tolerance);

/// Two contents of an argument whose bits differ. Equal bits are the only equal ones: NaNs with other payloads differ,
/// as do 0 and -0.
struct BitDifference {
  std::string argument;
  std::vector<std::uint64_t> coordinates;  ///< of the first element that differs, in the argument's shape
  std::string before, now;                 ///< its values; with their bits where they look the same
  std::uint64_t differing = 0, count = 0;  ///< elements that differ, and all
  /// "[3, 17] was 1.5 and is 1.25, and 12 of 4096 elements differ"
  std::string text() const;
};

/// nullopt: all bits are the same. `now` is read in pieces: read(offset, bytes) fills bytes from that offset on.
/// before.size() is the argument's.
template <class Read>
std::optional<BitDifference> bit_difference(const ArgumentLayout& layout, std::span<const std::byte> before,
                                            const Read& read);

/// A configuration's launches on the same inputs. A record without it does not state whether they agree.
struct Repeatability {
  int launches = 0;  ///< compared, with the first one; the last one is the one that differs, if one does
  std::optional<BitDifference> difference;  ///< of that launch from the first one; unset: all gave the same bits
  bool same() const noexcept { return !difference; }
  /// "the same bits in 5 launches", "launch 3 gave other bits than launch 1: y: [3] was 1.5 and is 1.25, and ..."
  std::string text() const;
};

/// Compares one piece, and adds to the difference.
void compare_bits(const ArgumentLayout& layout, std::uint64_t offset, std::span<const std::byte> before,
                  std::span<const std::byte> now, std::optional<BitDifference>& difference);

template <class Read>
std::optional<BitDifference> bit_difference(const ArgumentLayout& layout, std::span<const std::byte> before,
                                            const Read& read) {
  // Devices are read in pieces, so that the check of a large argument needs no second copy.
  constexpr std::size_t piece_bytes = std::size_t{16} << 20;
  std::optional<BitDifference> difference;
  std::vector<std::byte> now(std::min(before.size(), piece_bytes));
  for (std::size_t at = 0; at < before.size(); at += now.size()) {
    now.resize(std::min(now.size(), before.size() - at));
    read(at, std::span<std::byte>(now));
    compare_bits(layout, at, before.subspan(at, now.size()), now, difference);
  }
  return difference;
}

/// Numbers of elements of a reference that cannot be used.
struct ReferenceFacts {
  std::uint64_t count = 0;
  std::uint64_t unwritten = 0;    ///< not written: they have the contents of the output before the launch
  std::uint64_t from_output = 0;  ///< computed from the contents of the output before the launch
  std::uint64_t nans = 0;         ///< NaN for another reason
  void add(const ReferenceFacts& other) noexcept;
};

/// Whether any element is NaN or contains the poison, so that a second launch is needed to find out why.
bool is_doubtful(DType type, std::span<const std::byte> expected);

/// The number of elements that hold the usual poison after a launch on that, and the high one after a launch on that:
/// no launch writes them.
std::uint64_t count_unwritten(DType type, std::span<const std::byte> on_usual, std::span<const std::byte> on_high);

/// Whether any element contains the usual poison: the launch did not write it, or an integer has the same bits.
bool any_poison(DType type, std::span<const std::byte> expected);

/// Compares the results of a launch on poisoned outputs with those of a launch on zeroed outputs, in whole elements. A
/// float that was written and has the bits of the poison becomes another NaN, so that afterwards exactly the unwritten
/// floats contain the poison.
ReferenceFacts sort_out(DType type, std::span<std::byte> from_poison, std::span<const std::byte> from_zeros);

/// The same for values that were not computed by a launch; each counts as written.
ReferenceFacts sort_out(DType type, std::span<std::byte> given);

/// Whether any element is NaN or infinite. False for integers.
bool any_not_finite(DType type, std::span<const std::byte> values);

}  // namespace xtune::validate

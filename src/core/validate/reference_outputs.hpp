// The outputs of a reference, and whether they can be used for a comparison.
#pragma once

#include <cstdint>
#include <span>

#include "core/spec/dtype.hpp"

namespace xtune::validate {

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

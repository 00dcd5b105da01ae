// What a reference left in an output, and whether that can be compared with.
#pragma once

#include <cstdint>
#include <span>

#include "core/spec/dtype.hpp"

namespace xtune::validate {

/// What the values of a reference are worth, by element.
struct ReferenceFacts {
  std::uint64_t count = 0;
  std::uint64_t unwritten = 0;    ///< still hold what the output held before the launch
  std::uint64_t from_output = 0;  ///< were computed from what the output held before the launch
  std::uint64_t nans = 0;         ///< are NaN for another reason
  void add(const ReferenceFacts& other) noexcept;
};

/// Whether any element is NaN or holds the poison, so that a second launch is needed to learn why.
bool is_doubtful(DType type, std::span<const std::byte> expected);

/// Whether any element holds the usual poison: a launch left it alone, or an integer happens to look like it.
bool any_poison(DType type, std::span<const std::byte> expected);

/// Compares what a launch on poisoned outputs left with what a launch on zeroed outputs left, in whole elements. What
/// was written and looks like the poison of a float becomes another NaN, so that afterwards exactly the unwritten
/// elements of floats hold the poison.
ReferenceFacts sort_out(DType type, std::span<std::byte> from_poison, std::span<const std::byte> from_zeros);

/// The same for values that no launch made, of which each counts as written.
ReferenceFacts sort_out(DType type, std::span<std::byte> given);

/// Whether any element is NaN or infinite. False for integers.
bool any_not_finite(DType type, std::span<const std::byte> values);

}  // namespace xtune::validate

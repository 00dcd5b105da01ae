// Whether launches on the same inputs gave the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/validate/inputs.hpp"

namespace xtune::validate {

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

}  // namespace xtune::validate

// Valid combinations of a group of parameters: value indices packed into bits, sorted, a few words a row.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace xtune {

/// Rows compare as their digits do from left to right, as long as they are appended in that order.
class PackedRows {
 public:
  /// digit_sizes: how many values each digit can take.
  explicit PackedRows(const std::vector<std::uint32_t>& digit_sizes) {
    for (const std::uint32_t size : digit_sizes) {
      const auto bits = static_cast<std::uint32_t>(std::bit_width(size - 1u));
      if (fields_.empty() || bits > free_bits_) {
        ++words_;
        free_bits_ = 64;
      }
      free_bits_ -= bits;
      fields_.push_back({words_ - 1, free_bits_, (std::uint64_t{1} << bits) - 1});
    }
  }

  std::uint64_t count() const noexcept { return count_; }
  void append(const std::vector<std::uint32_t>& digits) {
    if (count_ % chunk_rows == 0) chunks_.emplace_back();
    std::vector<std::uint64_t>& chunk = chunks_.back();
    const std::size_t start = chunk.size();
    chunk.resize(start + words_);
    for (std::size_t i = 0; i < fields_.size(); ++i)
      chunk[start + fields_[i].word] |= std::uint64_t{digits[i]} << fields_[i].shift;
    ++count_;
  }
  void shrink() {
    if (!chunks_.empty()) chunks_.back().shrink_to_fit();
  }

  std::uint32_t digit(std::uint64_t row, std::size_t position) const noexcept {
    const Field& field = fields_[position];
    const std::uint64_t word = chunks_[row / chunk_rows][row % chunk_rows * words_ + field.word];
    return static_cast<std::uint32_t>((word >> field.shift) & field.mask);
  }

  using Range = std::pair<std::uint64_t, std::uint64_t>;
  /// The rows of a range, whose digits before position agree, that have value there.
  Range narrow(Range range, std::size_t position, std::uint32_t value) const noexcept {
    const std::uint64_t low = first_at_least(range, position, value);
    return {low, first_at_least({low, range.second}, position, value + 1)};
  }

 private:
  std::uint64_t first_at_least(Range range, std::size_t position, std::uint32_t value) const noexcept {
    while (range.first < range.second) {
      const std::uint64_t middle = range.first + (range.second - range.first) / 2;
      if (digit(middle, position) < value)
        range.first = middle + 1;
      else
        range.second = middle;
    }
    return range.first;
  }

  struct Field {
    std::uint32_t word, shift;
    std::uint64_t mask;
  };
  std::vector<Field> fields_;
  std::uint32_t words_ = 0, free_bits_ = 0;
  // In chunks: one vector of gigabytes would be copied, and held twice, each time that it grows.
  static constexpr std::uint64_t chunk_rows = std::uint64_t{1} << 17;
  std::vector<std::vector<std::uint64_t>> chunks_;
  std::uint64_t count_ = 0;
};

}  // namespace xtune

// Gives each distinct text a number.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace xtune::store {

/// The texts are stored elsewhere and must outlive the table.
class TextTable {
 public:
  struct Entry {
    std::string_view text;
    std::size_t hash = 0;
  };

  static std::size_t hash_of(std::string_view text) noexcept { return std::hash<std::string_view>()(text); }

  const std::vector<Entry>& entries() const noexcept { return entries_; }

  /// The text's number; if it has none yet, the next one, which add() would give it.
  std::uint32_t find(std::string_view text, std::size_t hash) const {
    if (slots_.empty()) return next();
    for (std::size_t slot = place_of(hash);; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::uint32_t number = slots_[slot];
      if (number == none) return next();
      if (entries_[number].hash == hash && entries_[number].text == text) return number;
    }
  }
  std::uint32_t next() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }

  void reserve(std::size_t count) {
    entries_.reserve(count);
    if (count * 2 > slots_.size()) grow(std::bit_ceil(count * 2));
  }

  /// Adds a text that find does not contain.
  void add(std::string_view text, std::size_t hash) {
    entries_.push_back({text, hash});
    if (entries_.size() * 2 > slots_.size())
      grow(slots_.empty() ? 64 : slots_.size() * 4);
    else
      put(next() - 1);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::size_t place_of(std::size_t hash) const { return (hash ^ hash >> 32) & (slots_.size() - 1); }
  void put(std::uint32_t number) {
    std::size_t slot = place_of(entries_[number].hash);
    while (slots_[slot] != none) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = number;
  }
  void grow(std::size_t slots) {
    slots_.assign(slots, none);
    for (std::uint32_t number = 0; number < entries_.size(); ++number) put(number);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< the size is a power of two
};

}  // namespace xtune::store

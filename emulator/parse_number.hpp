// Numbers in the disassembler's text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace xtune::emulator {

/// Decimal or, after 0x, hexadecimal, with an optional sign. nullopt: the text is anything else.
inline std::optional<std::int64_t> parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  const auto number = static_cast<std::int64_t>(value);
  return negative ? -number : number;
}

}  // namespace xtune::emulator

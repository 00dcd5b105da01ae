// The disassembler's text of an instruction as operands and modifiers, and its parts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulator/instruction.hpp"

namespace xtune::emulator {

/// Binds the text to a function of the table. An instruction that is not known, or has an operand or modifier that is
/// not, gets the kind `unknown` and a reason. wave_size: 32 or 64.
Instruction parse_instruction(std::string_view text, int wave_size);

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

/// "v[2:3]", "-|s4|", "sext(v1)", "vcc", "0x3f800000", "hwreg(HW_REG_MODE, 0, 4)". nullopt: none that is known.
std::optional<Operand> parse_operand(std::string_view text, int wave_size);

/// Adds a DPP modifier ("row_shr:1", "quad_perm:[0,1,2,3]", "bank_mask:0xf") to a move. False: it is not one.
bool add_lane_move(std::string_view word, int wave_size, std::optional<LaneMove>& move);

}  // namespace xtune::emulator

// The text of an operand: registers, constants and their modifiers.
#pragma once

#include <optional>
#include <string_view>

#include "emulator/instruction.hpp"

namespace xtune::emulator {

/// "v[2:3]", "-|s4|", "sext(v1)", "vcc", "0x3f800000", "hwreg(HW_REG_MODE, 0, 4)". nullopt: none that is known.
std::optional<Operand> parse_operand(std::string_view text, int wave_size);

}  // namespace xtune::emulator

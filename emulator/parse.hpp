// The disassembler's text of an instruction as operands and modifiers.
#pragma once

#include <string_view>

#include "emulator/instruction.hpp"

namespace xtune::emulator {

/// Binds the text to a function of the table. An instruction that is not known, or has an operand or modifier that is
/// not, gets the kind `unknown` and a reason. wave_size: 32 or 64.
Instruction parse_instruction(std::string_view text, int wave_size);

}  // namespace xtune::emulator

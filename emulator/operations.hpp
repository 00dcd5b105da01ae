// The table of the instructions that the emulator knows. Each source of a family of instructions adds its part.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "emulator/instruction.hpp"

namespace xtune::emulator {

/// Where an instruction's sources are: in its text; the target is the last one, too; VCC is the last one even if the
/// text does not name it; or the text does not matter.
enum class Sources : std::uint8_t { named, with_target, with_vcc, none };

/// names: mnemonics without encoding suffixes (_e32, _e64, _dpp, _sdwa), separated by blanks; all mean the same.
struct Operation {
  const char* names;
  Execute run;
  Kind kind;
  Sources sources = Sources::named;
};

/// An instruction that is not in the table has no entry: nullptr.
const Operation* find_operation(std::string_view mnemonic);

/// Number of mnemonics of a kind of instruction.
int mnemonics(Kind kind);

std::span<const Operation> control_operations();
std::span<const Operation> scalar_operations();
std::span<const Operation> scalar_memory_operations();
std::span<const Operation> integer_operations();
std::span<const Operation> float_operations();
std::span<const Operation> half_operations();
std::span<const Operation> compare_operations();
std::span<const Operation> packed_operations();
std::span<const Operation> lane_operations();
std::span<const Operation> matrix_operations();
std::span<const Operation> lds_operations();
std::span<const Operation> global_operations();
std::span<const Operation> buffer_operations();

}  // namespace xtune::emulator

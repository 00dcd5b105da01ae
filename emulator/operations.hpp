// The table of the instructions that the emulator knows. Each source of a family of instructions adds its part.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/instruction.hpp"

namespace xtune::emulator {

/// Where an instruction's sources are: in its text; the target is the last one, too; VCC is the last one even if the
/// text does not name it; or the text does not matter.
enum class Sources : std::uint8_t { named, with_target, with_vcc, none };

/// names: mnemonics without encoding suffixes (_e32, _e64, _dpp, _sdwa), separated by blanks; all mean the same.
/// A # in a name stands for each of the types, separated by blanks; each has a function of its own, or all have one.
struct Operation {
  constexpr Operation(const char* names_, Execute run_, Sources sources_ = Sources::named)
      : names(names_), sources(sources_) {
    run[0] = run_;
  }
  constexpr Operation(const char* names_, const char* types_, std::initializer_list<Execute> runs)
      : names(names_), types(types_) {
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = runs.begin()[i < runs.size() ? i : runs.size() - 1];
  }

  const char *names, *types = "";
  std::array<Execute, 4> run{};
  Sources sources = Sources::named;
};
/// prefix: of all names.
struct OperationTable {
  Kind kind;
  std::span<const Operation> operations;
  const char* prefix = "";
};
struct KnownOperation {
  Execute run = nullptr;  ///< nullptr: it is in no table
  Kind kind = Kind::unknown;
  Sources sources = Sources::named;
};

KnownOperation find_operation(std::string_view mnemonic);

/// Number of mnemonics of a kind of instruction.
int mnemonics(Kind kind);

extern const OperationTable control_operations, scalar_operations, scalar_memory_operations, integer_operations,
    float_operations, half_operations, compare_operations, packed_operations, lane_operations, matrix_operations,
    lds_operations, global_operations, buffer_operations, lds_updates, global_accesses, flat_accesses, scratch_accesses,
    global_updates, flat_updates;

}  // namespace xtune::emulator

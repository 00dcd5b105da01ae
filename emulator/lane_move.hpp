// The moves between lanes that DPP can make.
#pragma once

#include <optional>
#include <string_view>

#include "emulator/instruction.hpp"

namespace xtune::emulator {

/// Adds a DPP modifier ("row_shr:1", "quad_perm:[0,1,2,3]", "bank_mask:0xf") to a move. False: it is not one.
bool add_lane_move(std::string_view word, int wave_size, std::optional<LaneMove>& move);

}  // namespace xtune::emulator

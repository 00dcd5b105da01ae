// How a configuration is started: the shape of a kernel launch, or the call of a program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/device/program_call.hpp"

namespace xtune::device {

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{0, 0, 0};  ///< all zero: no cluster
  std::uint32_t shared_bytes = 0;                 ///< dynamic shared memory
  std::optional<ProgramCall> call{};              ///< of a program, which has no grid or block
};

}  // namespace xtune::device

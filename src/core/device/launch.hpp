// The shape of a kernel launch.
#pragma once

#include <array>
#include <cstdint>

namespace xtune {

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{0, 0, 0};  ///< all zero: no cluster
  std::uint32_t shared_bytes = 0;                 ///< dynamic shared memory
};

}  // namespace xtune

// What a kernel's body does with its arguments and its indices: guesses for shapes, roles and the launch.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/outline/kernel_function.hpp"

namespace xtune::outline {

/// What an index runs over.
struct Extent {
  std::set<std::string> sizes;  ///< integer arguments
  std::set<int> blocks;         ///< axes (0: x) of blockIdx that no argument limits
  bool data = false;            ///< it depends on what another argument holds
  bool rows = false;            ///< something is multiplied by a size, as in row * n + column
};

struct PointerUse {
  Extent extent;
  bool indexed = false, read = false, written = false;
  bool beyond_first = false;  ///< with an index that is not a number
  bool passed = false;        ///< to a function, or used otherwise: not all of its accesses are seen
};

/// One axis of the launch.
struct AxisUse {
  bool thread = false, block = false, block_size = false;  ///< threadIdx, blockIdx, blockDim
  std::vector<Tokens> tile;                                ///< factors of blockIdx: what a block covers; empty: one
  std::set<std::string> sizes;                             ///< the arguments that limit an index made of blockIdx
  Tokens stride;  ///< what a loop that begins at threadIdx adds: the threads of a block
};

struct BodyUse {
  std::map<std::string, PointerUse> pointers;
  std::array<AxisUse, 3> axes;
  std::string shared_type;  ///< of extern __shared__; empty: there is none
};

/// sizes: the integer arguments; pointers: those of pointer type.
BodyUse body_use(const Tokens& body, const std::set<std::string>& sizes, const std::set<std::string>& pointers);

}  // namespace xtune::outline

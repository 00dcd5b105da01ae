// What a kernel did that a GPU would not survive, or would answer with undefined results.
#pragma once

#include <stdexcept>

namespace xtune::host {

/// Thrown where a kernel calls a function with arguments, or in a state, that the GPU does not allow. The block ends
/// with the text.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace xtune::host

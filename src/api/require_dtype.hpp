// Numbers that an application casts to DType.
#pragma once

#include "xtune/dtype.hpp"

namespace xtune {

/// Throws Error(invalid_argument) for a number that is not one of DType's.
void require_dtype(DType dtype);

}  // namespace xtune

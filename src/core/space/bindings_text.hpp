// Names and values as people read them.
#pragma once

#include <string>

#include "core/space/value.hpp"

namespace xtune::space {

/// "M=4096 N=4096", by name; "" for a kernel without problem sizes.
std::string bindings_text(const Bindings& bindings);

}  // namespace xtune::space

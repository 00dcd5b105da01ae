// The version of xtune, as the command line and the records print it.
#pragma once

namespace xtune {

inline constexpr const char* version = "0.1.0";

}  // namespace xtune

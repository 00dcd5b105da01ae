// The version of xtune, as the command line and the records print it.
#pragma once

namespace xtune {

/// Of these headers.
inline constexpr const char* version = "0.1.0";

/// Of the library that is loaded; where it is not `version`, the program was built for another one.
const char* library_version() noexcept;

}  // namespace xtune

// The version of xtune, as the command line and the records print it.
#pragma once

/// The major version of these headers, for #if.
#define XTUNE_VERSION_MAJOR 0
/// The minor version of these headers, for #if.
#define XTUNE_VERSION_MINOR 2
/// The patch version of these headers, for #if.
#define XTUNE_VERSION_PATCH 0
/// "major.minor.patch" of these headers.
#define XTUNE_VERSION "0.2.0"

namespace xtune {

/// The version of these headers.
inline constexpr const char* version = XTUNE_VERSION;

/// The version of the loaded library. If it differs from `version`, the program was compiled for another version.
const char* library_version() noexcept;

}  // namespace xtune

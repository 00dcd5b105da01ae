// The library's only own object: the version it was built as.
#include "xtune/version.hpp"

namespace xtune {

const char* library_version() noexcept { return version; }

}  // namespace xtune

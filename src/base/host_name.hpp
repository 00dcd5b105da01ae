// The name of this machine.
#pragma once

#include <string>

namespace xtune::base {

/// The name from gethostname(2); "unknown" if it has none. Processes that write the name and processes that compare it
/// use this function.
std::string host_name();

}  // namespace xtune::base

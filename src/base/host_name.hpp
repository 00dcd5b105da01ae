// The name of this machine.
#pragma once

#include <string>

namespace xtune::base {

/// As gethostname(2) tells it; "unknown" where it tells none. What is written by one process and compared by another
/// takes it from here.
std::string host_name();

}  // namespace xtune::base

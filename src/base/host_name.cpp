// Asks the system.
#include "base/host_name.hpp"

#include <unistd.h>

namespace xtune::base {

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 && *name ? name : "unknown";
}

}  // namespace xtune::base

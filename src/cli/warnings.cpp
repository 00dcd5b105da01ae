// Combines warnings with one cause.
#include "base/causes.hpp"
#include "base/machine_state.hpp"
#include "cli/commands.hpp"

namespace xtune::cli {

void tell_warnings(const std::vector<std::string>& warnings) {
  base::Causes causes;
  for (const std::string& warning : warnings) causes.add(warning);
  for (const base::Cause& cause : causes.all()) tell("warning: {}\n", cause.text());
}

std::string load_warning(const base::Load& load) {
  return fmt::format("other programs use this machine (load {:.1f} on {} cores): times are unreliable", load.average,
                     load.cores);
}

}  // namespace xtune::cli

// Combines warnings with one cause.
#include "base/causes.hpp"
#include "cli/commands.hpp"

namespace xtune::cli {

void tell_warnings(const std::vector<std::string>& warnings) {
  base::Causes causes;
  for (const std::string& warning : warnings) causes.add(warning);
  for (const base::Cause& cause : causes.all()) tell("warning: {}\n", cause.text());
}

}  // namespace xtune::cli

// Many warnings of one cause become one.
#include "base/causes.hpp"
#include "cli/commands.hpp"

namespace xtune::cli {

void tell_warnings(const std::vector<std::string>& warnings) {
  Causes causes;
  for (const std::string& warning : warnings) causes.add(warning);
  for (const Cause& cause : causes.all()) tell("warning: {}\n", cause.text());
}

}  // namespace xtune::cli

// What follows `--` on the command line of submit.
#pragma once

#include <string>
#include <vector>

namespace xtune::cli {

/// The options of sbatch: main() puts them here, as the parser would take them for its own.
std::vector<std::string>& sbatch_options();

}  // namespace xtune::cli

// The words after `--` on the command line of submit.
#pragma once

#include <string>
#include <vector>

namespace xtune::cli {

/// The options of sbatch: main() stores them here, because the parser would take them for xtune's.
std::vector<std::string>& sbatch_options();

}  // namespace xtune::cli

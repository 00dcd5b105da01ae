// Scripts that complete xtune's command line.
#pragma once

#include <string>
#include <vector>

#include "cli/help.hpp"

namespace xtune::cli {

/// The supported shells.
const std::vector<std::string>& completion_shells();

/// The script of one of completion_shells() for all commands below `xtune`. It does not run xtune, so completion is
/// instant.
std::string completion_script(const CommandText& xtune, const std::string& shell);

}  // namespace xtune::cli

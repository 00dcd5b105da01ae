// Compilers that are shell scripts which start another one.
#pragma once

#include <optional>
#include <string>

namespace xtune::build {

/// The program of a script that does nothing but start one program, whatever the environment and other files hold:
/// "#!/bin/sh", comments, and one line `exec PROGRAM OPTION... "$@"` of words that no shell expands. The program is a
/// path from the root, or a name that is searched in PATH. nullopt: the script may do anything.
std::optional<std::string> program_of_wrapper(const std::string& script);

}  // namespace xtune::build

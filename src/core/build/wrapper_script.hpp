// Compilers that are shell scripts which start another compiler.
#pragma once

#include <optional>
#include <string>

namespace xtune::build {

/// The program of a script that only starts one program, regardless of the environment and other files: "#!/bin/sh",
/// comments, and one line `exec PROGRAM OPTION... "$@"` of words that a shell does not expand. The program is an
/// absolute path, or a name that is searched in PATH. nullopt: the script may do anything.
std::optional<std::string> program_of_wrapper(const std::string& script);

}  // namespace xtune::build

// The rule for make in which a compiler, an assembler or a linker lists the files that it read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xtune::build {

/// The files that the first rule lists (-MD -MF), from the folder in which the compiler ran; those of `own` and of what
/// lies below it are left out. Unset: there is no such file.
std::optional<std::vector<std::string>> files_of_rule(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own);
/// The same of a linker (--dependency-file). GNU ld quotes nothing, and lld does as compilers do: each name has a line
/// of its own, and is taken as it stands or unquoted, whichever is there. Files that are gone are omitted: the
/// compiler's own objects.
std::optional<std::vector<std::string>> files_of_link(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own);
/// Without the files that lie below one of these folders.
std::vector<std::string> files_outside(std::vector<std::string> files, const std::vector<std::string>& folders);

}  // namespace xtune::build

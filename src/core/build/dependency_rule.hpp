// The make rule in which a compiler, an assembler or a linker lists the files that it read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xtune::build {

/// The files that the first rule lists (-MD -MF). Relative names start at `own`, the directory in which the compiler
/// ran; files in or below `own` are omitted. Unset: the rule's file does not exist.
std::optional<std::vector<std::string>> files_of_rule(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own);
/// The same for a linker (--dependency-file). GNU ld does not quote, and lld quotes as compilers do: each name has its
/// own line, and the name that exists is used, literal or unquoted. Files that no longer exist are omitted: they are
/// the compiler's own objects.
std::optional<std::vector<std::string>> files_of_link(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own);
/// The files that are not below one of these directories.
std::vector<std::string> files_outside(std::vector<std::string> files, const std::vector<std::string>& folders);

}  // namespace xtune::build

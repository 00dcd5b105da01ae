// A text on which all processes agree: that of the first one.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::cluster {

/// The contents of the file after the first call: the text of the first process, which all others get too. As with
/// claims, exactly one process succeeds in linking it; without hard links two that start at once may disagree. Creates
/// the directory. Throws Error(io).
std::string agree_on(const std::filesystem::path& file, const std::string& text);

}  // namespace xtune::cluster

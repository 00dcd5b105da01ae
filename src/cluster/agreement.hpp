// One word for all processes: the first one's.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::cluster {

/// What the file says once all have asked: the text of the first process, which every other gets too. As with claims
/// one process alone succeeds in linking it; where there are no hard links two that begin at once may disagree. Makes
/// the folder. Throws Error(io).
std::string agree_on(const std::filesystem::path& file, const std::string& text);

}  // namespace xtune::cluster

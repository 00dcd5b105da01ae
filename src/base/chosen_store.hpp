// Which store is meant.
#pragma once

#include <filesystem>

#include "base/absolute_path.hpp"
#include "base/files.hpp"

namespace xtune {

/// The store that was given, else the default one; absolute. Throws Error(io) as absolute_path does.
inline std::filesystem::path chosen_store(const std::filesystem::path& given) {
  return absolute_path(given.empty() ? default_store() : given);
}

/// XTUNE_DISABLE_CACHE. Throws Error(invalid_argument) for a value that is neither yes nor no.
bool cache_disabled();

}  // namespace xtune

// The directory of the store that a command uses.
#pragma once

#include <filesystem>
#include <optional>

namespace xtune::base {

/// The given store, else the default one; absolute. Throws Error(io) as absolute_path does, and if the store exists and
/// users who are not trusted can change it (trust.hpp). If HOME is not set, the default store is created, so that no
/// other user can create it first.
std::filesystem::path chosen_store(const std::filesystem::path& given);
/// The path `inside` in the default store, for facts that are remembered about this machine. nullopt: there is no
/// default store that can be trusted; a command that needs one reports why.
std::optional<std::filesystem::path> place_in_default_store(const std::filesystem::path& inside);

/// Reads XTUNE_DISABLE_CACHE. Throws Error(invalid_argument) for a value that is neither yes nor no.
bool cache_disabled();

}  // namespace xtune::base

// Which store is meant.
#pragma once

#include <filesystem>
#include <optional>

namespace xtune::base {

/// The store that was given, else the default one; absolute. Throws Error(io) as absolute_path does, and where it is
/// there and others than trusted users can change it (trust.hpp). Where HOME is not set the default store is made,
/// so that no other user can make it first.
std::filesystem::path chosen_store(const std::filesystem::path& given);
/// `inside` of the default store, for what is remembered of this machine; nullopt: there is no such store that can be
/// trusted, and a command that needs one says why.
std::optional<std::filesystem::path> place_in_default_store(const std::filesystem::path& inside);

/// XTUNE_DISABLE_CACHE. Throws Error(invalid_argument) for a value that is neither yes nor no.
bool cache_disabled();

}  // namespace xtune::base

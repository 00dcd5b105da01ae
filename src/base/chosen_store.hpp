// The directory of the store that a command uses.
#pragma once

#include <filesystem>

namespace xtune::base {

/// The given store, else the default one; absolute. Throws Error(io) as absolute_path does, and if the store exists and
/// users who are not trusted can change it (trust.hpp). If HOME is not set, the default store is created, so that no
/// other user can create it first.
std::filesystem::path chosen_store(const std::filesystem::path& given);

/// What is read from a store and kept in it.
enum class Kept { all, artifacts, nothing };

/// Reads XTUNE_DISABLE_CACHE: unset or no: all; "records": artifacts only; yes: nothing. Throws Error(invalid_argument)
/// for another value.
Kept kept_in_store();
/// Whether nothing is kept.
inline bool cache_disabled() { return kept_in_store() == Kept::nothing; }

}  // namespace xtune::base

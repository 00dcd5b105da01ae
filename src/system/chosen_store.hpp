// The directory of the store that a command uses, facts about this machine that are kept in the default store, and what
// the workers of a process share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "system/subprocess.hpp"

namespace xtune::system {

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

/// The path of `inside` below the default store, or nullopt if no default store can be trusted. Commands that cannot do
/// without one report why.
std::optional<std::filesystem::path> place_in_default_store(const std::filesystem::path& inside);

/// Writes the file atomically. Errors are ignored: a store that cannot be written to must not stop the program.
void remember(const std::filesystem::path& place, const std::string& text) noexcept;

/// While a wanted one exists in a thread, remember() does nothing in it, and no default store is created; what was
/// remembered before is still read. For lookups that must write nothing.
class RememberNothing {
 public:
  explicit RememberNothing(bool wanted = true) noexcept;
  ~RememberNothing();
  RememberNothing(const RememberNothing&) = delete;
  RememberNothing& operator=(const RememberNothing&) = delete;

 private:
  const bool wanted_;
};

/// Variables for processes that find such facts: they remember nothing if this thread does not.
Environment memory_variables();

/// Variables for workers: they find the directory by shared_folder(). The directory is made at the first call and
/// removed at the end of the process. Empty if it cannot be made, such as on a full disk.
Environment shared_folder_variables() noexcept;

/// In a worker: the directory of the process that started it. Empty: there is none.
std::filesystem::path shared_folder();

}  // namespace xtune::system

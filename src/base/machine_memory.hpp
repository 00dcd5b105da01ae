// Facts about this machine that are kept in the default store, so that they are not found again at each start: devices
// and compilers, the installation of Kokkos, hashes of large files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/subprocess.hpp"

namespace xtune::base {

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

}  // namespace xtune::base

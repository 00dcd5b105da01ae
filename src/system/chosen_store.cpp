// The only access to a store: every command and every call of the library uses it.
#include "system/chosen_store.hpp"

#include <cstdlib>

#include "base/text.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::system {

namespace {

/// Whether default_store() is in a place where every user may create names.
bool default_is_public() {
  for (const char* name : {"XTUNE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
    if (const char* value = std::getenv(name); value && *value) return false;
  return true;
}

// Readers check what they read: a fact may be damaged, or out of date.

/// The number of RememberNothing objects of this thread that forbid writing.
int& forbidden() noexcept {
  thread_local int count = 0;
  return count;
}

constexpr const char* shared_variable = "XTUNE_SHARED_DIR";

const std::optional<TemporaryDirectory>& process_folder() {
  static const std::optional<TemporaryDirectory> folder = []() -> std::optional<TemporaryDirectory> {
    try {
      return std::make_optional<TemporaryDirectory>();
    } catch (const Error&) {  // workers then share nothing
      return std::nullopt;
    }
  }();
  return folder;
}

}  // namespace

std::filesystem::path chosen_store(const std::filesystem::path& given) {
  const std::filesystem::path store = absolute_path(given.empty() ? default_store() : given);
  if (given.empty() && default_is_public())
    make_private_directory(store);
  else
    require_trusted(store);
  return store;
}

Kept kept_in_store() {
  const char* const value = std::getenv("XTUNE_DISABLE_CACHE");
  const std::string text = value ? value : "";
  for (const char* no : {"", "0", "false", "no", "off"})
    if (text == no) return Kept::all;
  for (const char* yes : {"1", "true", "yes", "on"})
    if (text == yes) return Kept::nothing;
  if (text == "records") return Kept::artifacts;
  throw Error(ErrorKind::invalid_argument, "XTUNE_DISABLE_CACHE='" + base::printable(text, 80) +
                                               "': set it to 1 to keep nothing, to records to keep only compiled "
                                               "kernels, or to 0");
}

std::optional<std::filesystem::path> place_in_default_store(const std::filesystem::path& inside) try {
  const std::filesystem::path store = forbidden() > 0 ? absolute_path(default_store()) : chosen_store({});
  require_trusted(store);
  const std::filesystem::path place = store / inside;
  require_trusted(place.parent_path());
  return place;
} catch (const Error&) {
  return std::nullopt;
}

void remember(const std::filesystem::path& place, const std::string& text) noexcept {
  if (forbidden() > 0) return;
  try {
    write_file_atomically(place, text);
  } catch (const std::exception&) {
  }
}

RememberNothing::RememberNothing(bool wanted) noexcept : wanted_(wanted) { forbidden() += wanted; }
RememberNothing::~RememberNothing() { forbidden() -= wanted_; }

Environment memory_variables() {
  if (forbidden() == 0) return {};
  return {{"XTUNE_DISABLE_CACHE", "1"}};
}

Environment shared_folder_variables() noexcept try {
  if (!process_folder()) return {};
  return {{shared_variable, process_folder()->path().string()}};
} catch (...) {
  return {};
}

std::filesystem::path shared_folder() {
  const char* const named = std::getenv(shared_variable);
  return named ? named : "";
}

}  // namespace xtune::system

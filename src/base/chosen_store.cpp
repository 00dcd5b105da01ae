// The only access to a store: every command and every call of the library uses it.
#include "base/chosen_store.hpp"

#include <cstdlib>
#include <string>

#include "base/absolute_path.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::base {
namespace {

/// Whether default_store() is in a place where every user may create names.
bool default_is_public() {
  for (const char* name : {"XTUNE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
    if (const char* value = std::getenv(name); value && *value) return false;
  return true;
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
  throw Error(ErrorKind::invalid_argument, "XTUNE_DISABLE_CACHE='" + printable(text, 80) +
                                               "': set it to 1 to keep nothing, to records to keep only compiled "
                                               "kernels, or to 0");
}

}  // namespace xtune::base

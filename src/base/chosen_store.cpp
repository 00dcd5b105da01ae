// Whether anything may be kept between runs.
#include "base/chosen_store.hpp"

#include <cstdlib>
#include <string>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune {

bool cache_disabled() {
  const char* const value = std::getenv("XTUNE_DISABLE_CACHE");
  const std::string text = value ? value : "";
  for (const char* no : {"", "0", "false", "no", "off"})
    if (text == no) return false;
  for (const char* yes : {"1", "true", "yes", "on"})
    if (text == yes) return true;
  throw Error(ErrorKind::invalid_argument,
              "XTUNE_DISABLE_CACHE='" + printable(text, 80) + "': set it to 1 to keep nothing, or to 0");
}

}  // namespace xtune

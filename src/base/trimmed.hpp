// Removes blanks around a text.
#pragma once

#include <algorithm>
#include <string_view>

namespace xtune::base {

/// The text without these characters at either end. Refers to the given text.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n\v\f\r") noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(blanks) + 1));
  return text;
}

}  // namespace xtune::base

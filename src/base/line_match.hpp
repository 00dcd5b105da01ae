// Regular expressions from users, searched line by line.
#pragma once

#include <optional>
#include <string>

namespace xtune::base {

struct LineMatch {
  std::string text;   ///< the first group, or the whole match
  std::string after;  ///< the rest of the line
};

/// The match in the last line of which any part matches; nullopt: none. The expression has RE2's syntax and matches
/// bytes, in time linear in the text. Throws Error(invalid_argument) with the reason for one that is not valid.
std::optional<LineMatch> last_match(const std::string& expression, const std::string& text);

}  // namespace xtune::base

#include "base/line_match.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <array>
#include <ranges>
#include <string_view>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::base {

std::optional<LineMatch> last_match(const std::string& expression, const std::string& text) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // a program may print any bytes
  options.set_log_errors(false);
  const RE2 regex(expression, options);
  if (!regex.ok())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("'{}' is not a regular expression in RE2's syntax, which has no lookarounds and no "
                            "back-references: {}",
                            printable(expression, 300), printable(regex.error(), 300)));
  const bool has_group = regex.NumberOfCapturingGroups() > 0;
  for (std::string_view line : split_lines(text) | std::views::reverse) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::array<re2::StringPiece, 2> found;
    if (!regex.Match({line.data(), line.size()}, 0, line.size(), RE2::UNANCHORED, found.data(), has_group ? 2 : 1))
      continue;
    const re2::StringPiece& group = found[has_group ? 1 : 0];
    if (group.data() == nullptr) return LineMatch();  // an alternative without the group
    return LineMatch{std::string(group.data(), group.size()),
                     std::string(group.data() + group.size(), line.data() + line.size())};
  }
  return std::nullopt;
}

}  // namespace xtune::base

// Finds the line with the first error.
#include "core/build/compiler_log.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace xtune::build {
namespace {

std::string_view line_at(std::string_view log, std::size_t at) {
  const std::size_t newline = log.rfind('\n', at);
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return log.substr(start, std::min(log.find('\n', at), log.size()) - start);
}

}  // namespace

std::string first_error(const std::string& log) {
  // GNU as writes "Error: " in its lines, below a heading "k.cu: Assembler messages:".
  const std::size_t at = std::min(log.find("error:"), log.find(": Error: "));
  if (at != std::string::npos) return base::printable(line_at(log, at), 300);
  // gcc's last message may follow an empty line.
  const auto first = std::min(log.find_first_not_of(" \n"), log.size());
  return base::printable(log.substr(first, log.find('\n', first) - first), 300);
}

}  // namespace xtune::build

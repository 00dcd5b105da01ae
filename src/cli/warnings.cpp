// Many warnings of one cause become one.
#include <fmt/core.h>

#include <regex>
#include <unordered_map>

#include "cli/commands.hpp"

namespace xtune::cli {
namespace {

// The same text for whatever a cause befalls: an artifact, a record file, a line of it.
std::string cause_of(const std::string& warning) {
  static const std::regex particulars(R"(([0-9a-f]{2}/)?[0-9a-f]{64}|[^/\s]+\.jsonl(\.damaged)?(:[0-9]+)?)");
  return std::regex_replace(warning, particulars, "*");
}

}  // namespace

void tell_warnings(const std::vector<std::string>& warnings) {
  std::vector<std::pair<const std::string*, std::uint64_t>> causes;
  std::unordered_map<std::string, std::size_t> places;
  for (const std::string& warning : warnings) {
    const auto [place, is_new] = places.emplace(cause_of(warning), causes.size());
    if (is_new)
      causes.emplace_back(&warning, 0);
    else if (*causes[place->second].first != warning)
      ++causes[place->second].second;
  }
  for (const auto& [first, more] : causes)
    tell("warning: {}{}\n", *first, more ? fmt::format(" (and {} more like this)", more) : "");
}

}  // namespace xtune::cli

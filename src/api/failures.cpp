// Counts in the order of the outcomes, and the first failure with a message.
#include "api/failures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace xtune {

std::string failures_text(const std::vector<Failed>& failures) {
  std::map<Outcome, std::size_t> counts;
  for (const Failed& failure : failures) ++counts[failure.outcome];
  std::string text;
  for (const auto& [outcome, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(outcome));
  const auto first =
      std::find_if(failures.begin(), failures.end(), [](const Failed& failure) { return !failure.message.empty(); });
  if (first != failures.end())
    text += fmt::format(". The first failure ({}): {}", to_string(first->outcome), first->message);
  return text;
}

}  // namespace xtune

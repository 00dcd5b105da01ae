// Counts failures and successes at the smallest distance.
#include "core/search/known_failures.hpp"

#include "core/search/moves.hpp"

namespace xtune::search {

bool KnownFailures::likely(const std::vector<std::uint32_t>& digits) const {
  if (failed_.empty()) return false;
  std::size_t nearest = digits.size() + 1, failures = 0, successes = 0;
  const auto count = [&](const std::vector<Digits>& others, std::size_t& counter) {
    for (const Digits& other : others) {
      const std::size_t distance = hamming_distance(digits, other);
      if (distance < nearest) {
        nearest = distance;
        failures = successes = 0;
      }
      counter += distance == nearest ? 1 : 0;
    }
  };
  count(failed_, failures);
  count(succeeded_, successes);
  return failures > successes;
}

}  // namespace xtune::search

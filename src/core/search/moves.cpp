// Steps by trial, since a space quickly answers whether it contains a configuration.
#include "core/search/moves.hpp"

#include <numeric>

namespace xtune::search {

std::optional<std::uint64_t> random_step(const space::Space& space, std::uint64_t from, base::Random& random) {
  constexpr int draws = 40;
  const auto& parameters = space.parameters();
  std::vector<std::size_t> movable;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].values.size() > 1) movable.push_back(i);
  if (movable.empty()) return std::nullopt;
  Digits digits = space.value_indices(from);
  for (int draw = 0; draw < draws; ++draw) {
    const std::size_t i = movable[random.below(movable.size())];
    const auto count = static_cast<std::uint32_t>(parameters[i].values.size());
    const std::uint32_t own = digits[i];
    std::uint32_t other = static_cast<std::uint32_t>(random.below(count - 1));
    if (other >= own) ++other;
    if (random.below(2) == 0) {
      const bool up = own == 0 || (own + 1 < count && random.below(2) == 0);
      other = up ? own + 1 : own - 1;
    }
    digits[i] = other;
    if (const auto found = space.index_of(digits)) return found;
    digits[i] = own;
  }
  return std::nullopt;
}

std::uint64_t walk_towards(const space::Space& space, std::uint64_t from, std::span<const std::uint32_t> wanted,
                           base::Random& random) {
  if (const auto straight = space.index_of(Digits(wanted.begin(), wanted.end()))) return *straight;
  Digits digits = space.value_indices(from);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < digits.size(); ++i)
    if (digits[i] != wanted[i]) order.push_back(i);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  std::uint64_t at = from;
  // A second round adopts digits that only became valid through the first.
  for (int round = 0; round < 2; ++round)
    for (const std::size_t i : order) {
      if (digits[i] == wanted[i]) continue;
      const std::uint32_t own = digits[i];
      digits[i] = wanted[i];
      if (const auto found = space.index_of(digits))
        at = *found;
      else
        digits[i] = own;
    }
  return at;
}

std::size_t hamming_distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different += a[i] != b[i];
  return different;
}

// Counts failures and successes at the smallest distance.

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

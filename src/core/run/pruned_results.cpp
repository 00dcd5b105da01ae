// Divides the pruned results into lost and doubtful ones.
#include "core/run/pruned_results.hpp"

#include <algorithm>
#include <utility>

namespace xtune::run {

std::optional<PrunedResults::Pruned> PrunedResults::take_doubtful(const std::function<bool(const Pruned&)>& lost,
                                                                  const std::vector<record::Record>& records) {
  const auto doubtful = std::partition(open_.begin(), open_.end(), lost);
  lost_.insert(lost_.end(), open_.begin(), doubtful);
  open_.erase(open_.begin(), doubtful);
  if (open_.empty()) return std::nullopt;
  const auto min_ms = [&](const Pruned& one) {
    return one.record ? records[*one.record].time_ms.min : one.row.config->low_ms;
  };
  const auto next = std::min_element(open_.begin(), open_.end(), [&](const Pruned& a, const Pruned& b) {
    return std::pair(min_ms(a), a.index) < std::pair(min_ms(b), b.index);
  });
  const Pruned taken = *next;
  open_.erase(next);
  return taken;
}

void PrunedResults::revive(const std::vector<record::Record>& records) {
  open_.insert(open_.end(), lost_.begin(), lost_.end());
  lost_.clear();
  std::erase_if(open_,
                [&](const Pruned& one) { return one.record && records[*one.record].outcome != Outcome::pruned; });
}

}  // namespace xtune::run

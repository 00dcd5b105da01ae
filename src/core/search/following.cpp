// Losses, and the allowed number of them.
#include "core/search/following.hpp"

#include <algorithm>
#include <cmath>

namespace xtune::search {

namespace {

constexpr double lost_in_part = 0.3;
constexpr double improvement = 0.02;           // of the best time, relative: less is hardly an improvement
constexpr double max_support_lost = 3;         // proposals, for any support
constexpr double share_of_under_way = 0.125;   // additional allowance for each outstanding proposal of the strategy
constexpr std::uint64_t max_for_each_own = 2;  // proposals of the sources for each of the strategy
constexpr std::uint64_t last_proposal = 60;

}  // namespace

bool Following::over() const { return own_ + theirs_ >= last_proposal; }

bool Following::allows(double support) const {
  if (over() || theirs_ > max_for_each_own * own_) return false;
  // In a large batch, one more lost proposal delays the strategy by less.
  const double batch = 1 + share_of_under_way * static_cast<double>(own_under_way_.size());
  const double allowed = std::clamp(support, 0.0, max_support_lost) * batch;
  return lost_ + static_cast<double>(theirs_under_way_.size() + unjudged_.size()) + 1 <= allowed;
}

void Following::proposed(std::uint64_t index, bool by_sources) {
  (by_sources ? theirs_under_way_ : own_under_way_).insert(index);
  ++(by_sources ? theirs_ : own_);
}

void Following::observe(const SearchResult& result) {
  const bool measured = result.kind == SearchResult::Kind::measured;
  if (theirs_under_way_.erase(result.index) > 0) {
    unjudged_.push_back(result);
  } else {
    own_under_way_.erase(result.index);
    if (measured) own_best_ms_ = std::min(own_best_ms_, result.time_ms);
  }
  if (!std::isinf(own_best_ms_)) judge();
  best_ms_ = std::min(best_ms_, own_best_ms_);
}

void Following::judge() {
  for (const SearchResult& result : unjudged_) {
    const bool measured = result.kind == SearchResult::Kind::measured;
    if (!measured || result.time_ms >= own_best_ms_)
      lost_ += 1;
    else if (result.time_ms > best_ms_ * (1 - improvement))
      lost_ += lost_in_part;
    if (measured) best_ms_ = std::min(best_ms_, result.time_ms);
  }
  unjudged_.clear();
}

}  // namespace xtune::search

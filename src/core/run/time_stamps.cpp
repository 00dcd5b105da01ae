// Only keys with records from after the run's start are stored; nearly always there are none.
#include "core/run/time_stamps.hpp"

#include <algorithm>

namespace xtune::run {

void TimeStamps::learn(const store::KeyDigest& key, std::int64_t unix_time_ms) {
  if (unix_time_ms < start_ms_) return;
  std::int64_t& newest = ahead_[key];
  newest = std::max(newest, unix_time_ms);
}

std::int64_t TimeStamps::next(const store::KeyDigest& key) {
  last_ms_ = std::max(last_ms_, clock_.unix_time_ms());
  const auto found = ahead_.find(key);
  if (found == ahead_.end()) return last_ms_;
  return found->second = std::max(last_ms_, found->second + 1);
}

}  // namespace xtune::run

// The timestamps of a run's records.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/clock.hpp"
#include "core/store/stored_config.hpp"

namespace xtune::run {

/// For each key the newest record counts, so a run's records must be newer than all that it has read with their keys,
/// even if the clock goes back, or was ahead when an earlier run wrote its records.
class TimeStamps {
 public:
  explicit TimeStamps(base::Clock& clock) : clock_(clock), start_ms_(clock.unix_time_ms()), last_ms_(start_ms_) {}

  void learn(const store::KeyDigest& key, std::int64_t unix_time_ms);
  /// Unix time in ms: the clock's, but at least the last stamp, and after all records of the key.
  std::int64_t next(const store::KeyDigest& key);

 private:
  base::Clock& clock_;
  const std::int64_t start_ms_;
  std::int64_t last_ms_;
  std::unordered_map<store::KeyDigest, std::int64_t, store::KeyDigestHash>
      ahead_;  ///< newest time; only if it is after the run's start
};

}  // namespace xtune::run

// The training data of models: the results so far as targets on one scale.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/search/result.hpp"

namespace xtune::search {

/// Built from all results whenever there are new ones. A target is the result's SoftLogarithm, centred and divided by
/// the deviation.
class Lesson {
 public:
  /// results: at least one must be measured.
  explicit Lesson(std::span<const SearchResult> results);

  const std::vector<std::uint64_t>& timed() const noexcept { return timed_; }  ///< fastest first; bounds count as times
  const std::vector<std::uint64_t>& failed() const noexcept { return failed_; }  ///< in the order of the results
  /// NaN: failed, or not known.
  float target(std::uint64_t index) const;
  /// One for a failure, else zero, minus the fraction of failures; NaN: not known.
  float failure(std::uint64_t index) const;
  float failure_rate() const noexcept { return failure_rate_; }
  /// The minimum target of the measured configurations.
  float best() const noexcept { return best_; }

 private:
  std::vector<std::uint64_t> timed_, failed_;
  std::unordered_map<std::uint64_t, float> targets_;  // NaN: failed
  float best_ = 0, failure_rate_ = 0;
};

}  // namespace xtune::search

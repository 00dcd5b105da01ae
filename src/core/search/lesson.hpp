// What models are taught: the results so far as targets of one scale.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/search/budgeted.hpp"
#include "core/search/guidance.hpp"

namespace xtune {

/// Made anew from all results whenever there are more of them. A target is the result's SoftLogarithm, less what the
/// guidance expects there, centred and divided by the deviation; models predict it, and the guidance's part is added to
/// what they predict.
class Lesson {
 public:
  /// results: at least one of them measured. Weighs the guidance by them.
  Lesson(std::span<const SearchResult> results, Guidance& guidance);

  const std::vector<std::uint64_t>& timed() const noexcept { return timed_; }  ///< fastest first; bounds count as times
  const std::vector<std::uint64_t>& failed() const noexcept { return failed_; }  ///< in the order in which they came
  /// NaN: failed or not known.
  float target(std::uint64_t index) const;
  /// Whether it failed, as one or zero, less the part that did; NaN: not known.
  float failure(std::uint64_t index) const;
  float failure_rate() const noexcept { return failure_rate_; }
  /// What the guidance says there, in units of targets.
  float expected(std::uint64_t index, const Guidance& guidance) const;
  /// The least of target and expectation together, of those measured.
  float best() const noexcept { return best_; }

 private:
  std::vector<std::uint64_t> timed_, failed_;
  std::unordered_map<std::uint64_t, float> targets_;  // NaN: failed
  double deviation_ = 1;
  float best_ = 0, failure_rate_ = 0;
};

}  // namespace xtune

// When a run ends: on request, out of time, or draining.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace xtune::run {

/// Time counts from its construction.
class StopConditions {
 public:
  /// Share of the run's time for the search: the rest is for the finals.
  static constexpr double share_of_search = 0.9;

  /// seconds: of the whole run; unset: no limit. drain may be null. The references must outlive this.
  StopConditions(base::Clock& clock, std::optional<double> seconds, const std::atomic<bool>& stop,
                 const std::atomic<bool>* drain)
      : clock_(clock), start_ns_(clock.now_ns()), seconds_(seconds), stop_(stop), drain_(drain) {}

  double elapsed_s() const { return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9; }
  bool time_is_up(double share = 1) const { return seconds_ && elapsed_s() >= share * *seconds_; }
  bool asked() const { return stop_.load(); }
  bool stopping() const { return stop_.load(std::memory_order_relaxed) || time_is_up(); }
  bool draining() const { return drain_ && drain_->load(std::memory_order_relaxed); }
  /// Whether the search's share of the time is spent and its open work was given up (cut_search).
  bool search_cut() const noexcept { return search_cut_; }
  /// Returns true once, when the search must be cut.
  bool cut_search() { return !search_cut_ && (search_cut_ = time_is_up(share_of_search)); }

 private:
  base::Clock& clock_;
  const std::int64_t start_ns_;
  const std::optional<double> seconds_;
  const std::atomic<bool>& stop_;
  const std::atomic<bool>* const drain_;
  bool search_cut_ = false;
};

}  // namespace xtune::run

// The incumbent, and when it is measured again.
#include "core/run/incumbent_tracker.hpp"

#include <algorithm>

namespace xtune::run {
namespace {

constexpr std::size_t races_between = 40, races_after_stored = 8;
constexpr double max_busy_share = 0.05;

}  // namespace

IncumbentTracker::IncumbentTracker(measure::Statistic statistic, std::size_t top) : statistic_(statistic), top_(top) {}

void IncumbentTracker::consider(std::uint64_t index, const record::Record& record, double slowness, bool stored) {
  const double measured_ms = measure::statistic(record.time_ms, statistic_), time_ms = measured_ms / slowness;
  const bool clean = record.tainted.empty();
  const measure::Incumbent incumbent =
      measure::scaled(measure::incumbent_of(record.time_ms, measured_ms), 1 / slowness);
  if (top_ > 1 && clean) {
    const auto place =
        std::find_if(leaders_.begin(), leaders_.end(), [&](const auto& it) { return it.first > time_ms; });
    leaders_.insert(place, {time_ms, incumbent});
    if (leaders_.size() > top_) leaders_.pop_back();
  }
  if (best_) {
    const bool best_clean = best_->record.tainted.empty();
    if (clean != best_clean ? best_clean : time_ms >= best_->time_ms) return;
  }
  best_.emplace(Best{index, record, incumbent, time_ms, record.bench_s, stored});
}

bool IncumbentTracker::may_lead(double time_ms, bool clean) const {
  if (top_ > 1 && clean && (leaders_.size() < top_ || leaders_.back().first > time_ms)) return true;
  if (!best_) return true;
  const bool best_clean = best_->record.tainted.empty();
  return clean != best_clean ? clean : time_ms < best_->time_ms;
}

std::optional<measure::Incumbent> IncumbentTracker::bar() const {
  if (top_ > 1) return leaders_.size() < top_ ? std::nullopt : std::optional(leaders_.back().second);
  return best_ ? std::optional(best_->incumbent) : std::nullopt;
}

void IncumbentTracker::clear() {
  leaders_.clear();
  best_.reset();
}

void IncumbentTracker::count_race(double busy_s) {
  if (!best_) return;
  ++best_->races;
  best_->busy_s += busy_s;
}

std::optional<std::uint64_t> IncumbentTracker::take_due() {
  if (!best_ || best_->asked) return std::nullopt;
  if (best_->races < (best_->stored ? races_after_stored : races_between)) return std::nullopt;
  if (best_->cost_s > max_busy_share * best_->busy_s && !best_->stored) return std::nullopt;
  best_->asked = true;
  return best_->index;
}

const record::Record* IncumbentTracker::remeasured(const std::string& key) {
  if (!best_ || best_->record.key != key) return nullptr;
  best_->asked = false;
  best_->stored = false;
  best_->races = 0;
  best_->busy_s = 0;
  return &best_->record;
}

void IncumbentTracker::update(const measure::Summary& time_ms, double busy_s) {
  best_->time_ms = measure::statistic(time_ms, statistic_);
  best_->incumbent = measure::incumbent_of(time_ms, best_->time_ms);
  best_->cost_s = busy_s;
}

}  // namespace xtune::run

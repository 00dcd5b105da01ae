// Which device measures what, and whether the devices of a run are as fast as each other.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/run/tuning.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune {
namespace {

// Devices of one kind differ by less; what differs more is throttled, shared or broken.
constexpr double most_difference = 0.02;
// Configurations that fail on the first device after they have passed before.
constexpr int most_failures = 3;

std::string name_of(const DeviceInfo& device) {
  return fmt::format("device {} ({}{}{})", device.index, device.name, device.uuid.empty() ? "" : ", ", device.uuid);
}

/// Certainly, by the intervals of both medians.
bool differ(const Summary& a, const Summary& b) {
  return a.low > (1 + most_difference) * b.high || b.low > (1 + most_difference) * a.high;
}

}  // namespace

std::size_t Tuning::benching() const {
  return static_cast<std::size_t>(std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& l) { return l.busy; }));
}

void Tuning::give_work() {
  for (Lane& lane : lanes_)
    if (!lane.busy) start_bench(lane);
  if (!ready_.empty()) seek_calibration();
}

void Tuning::start_bench(Lane& lane) {
  const bool is_first = &lane == &first();
  if (lane.state == Lane::State::idle && calibration_.trial && !ready_.empty() && (is_first || calibration_.time_ms))
    return calibrate(lane);
  if (!is_first && lane.state != Lane::State::in) return;
  // Where the incumbent stands today is asked of the device whose times it stands for.
  const auto next = std::find_if(ready_.begin(), ready_.end(), [&](const TrialPtr& trial) {
    return is_first || trial->purpose != Trial::Purpose::drift;
  });
  if (next == ready_.end()) return;
  const TrialPtr trial = *next;
  ready_.erase(next);
  if (trial->purpose == Trial::Purpose::drift) return measure_incumbent(trial);
  lane.busy = true;
  BenchJob job = job_of(*trial);
  if (const auto there = bar(); there && races() && trial->purpose == Trial::Purpose::search)
    job.incumbent = scaled(*there, lane.slowness);
  lane.bench->bench(job, spec_.measure.timeout_s,
                    [this, trial, &lane](const BenchAnswer& answer) { on_benched(trial, lane, answer); });
}

/// Configurations wait: the further devices are worth what it takes to compare them.
void Tuning::seek_calibration() {
  const bool wanted =
      std::any_of(lanes_.begin() + 1, lanes_.end(), [](const Lane& lane) { return lane.state == Lane::State::idle; });
  if (!wanted || calibration_.asked || !calibration_.index || search_cut_) return;
  calibration_.asked = true;
  const TrialPtr trial = make_trial(*calibration_.index);
  trial->purpose = Trial::Purpose::calibrate;
  trial->launch = resolver_.launch(trial->config);
  start_compile(trial);  // from the cache
}

void Tuning::calibrate(Lane& lane) {
  lane.busy = true;
  lane.bench->bench(job_of(*calibration_.trial), spec_.measure.timeout_s, [this, &lane](const BenchAnswer& answer) {
    ++answers_;
    lane.busy = false;
    result_.device_busy_s += answer.busy_s;
    judge(lane, answer);
  });
}

/// The next one that passes may do.
void Tuning::calibrate_with_another() {
  calibration_ = {std::nullopt, false, calibration_.failures + 1, nullptr, std::nullopt};
  if (calibration_.failures < most_failures) return;
  for (Lane& lane : lanes_)
    if (&lane != &first()) leave(lane, "no configuration passes twice on " + name_of(first().device));
}

void Tuning::judge(Lane& lane, const BenchAnswer& answer) {
  if (answer.no_device) return leave(lane, answer.message);
  Record record = calibration_.trial->record;
  fill(record, *calibration_.trial, lane, answer);
  if (answer.outcome == Outcome::ok) {
    record.drift = true;
    record.compile_s = record.compile_cpu_s = 0;
    stamp(record);
    store(record);
  }
  const std::string config = bindings_text(record.config);
  if (&lane == &first()) {
    if (answer.outcome == Outcome::ok) {
      lane.state = Lane::State::in;
      calibration_.time_ms = record.time_ms;
      return;
    }
    return calibrate_with_another();
  }
  if (answer.outcome != Outcome::ok)
    return leave(lane, fmt::format("{}, ok on {}, is {} here: {}", config, name_of(first().device),
                                   to_string(answer.outcome), printable(answer.message, 500)));
  const double slowness = record.time_ms.median / calibration_.time_ms->median;
  if (differ(record.time_ms, *calibration_.time_ms))
    return leave(lane,
                 fmt::format("{} takes {} here, {:.1f} % {} than on {}{}", config, human_time_ms(record.time_ms.median),
                             100 * (slowness > 1 ? slowness - 1 : 1 - slowness), slowness > 1 ? "more" : "less",
                             name_of(first().device), record.tainted.empty() ? "" : "; " + record.tainted[0]));
  lane.state = Lane::State::in;
  lane.slowness = slowness;
}

void Tuning::leave(Lane& lane, const std::string& why) {
  lane.state = Lane::State::out;
  observer_.on_warning(fmt::format("{} measures nothing in this run: {}", name_of(lane.device), why));
}

/// 1 for a device that is none of this run's.
double Tuning::slowness_of(const DeviceInfo& device) const {
  for (const Lane& lane : lanes_)
    if (lane.device.uuid == device.uuid && lane.device.index == device.index) return lane.slowness;
  return 1;
}

}  // namespace xtune

// Gives compiled trials to devices and takes their answers.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "core/measure/statistics.hpp"
#include "core/run/run_parts.hpp"
#include "core/space/value.hpp"

namespace xtune::run {

std::string time_unit_warning(const spec::ProcessSpec& process, const BenchAnswer& answer) {
  using Form = device::ProgramValue::Form;
  if (process.device != "host" || process.time.form == Form::wall || !process.time.unit.empty()) return {};
  if (answer.samples_ms.empty() || !(answer.busy_s > 0)) return {};
  const double time_ms = measure::summarize(answer.samples_ms).median;
  // Runs before the samples and after them make this up to some times too large.
  const double ran_ms = answer.busy_s * 1e3 / static_cast<double>(answer.samples_ms.size() + 1);
  const double ratio = ran_ms / time_ms;
  // 1.0 s read as 1.0 ms; 1000 us read as 1000 ms.
  const char* const unit = ratio > 700 && ratio < 4000 ? "s" : ratio < 0.02 && ratio > 2e-4 ? "us" : nullptr;
  if (!unit) return {};
  return fmt::format(
      "the program reports {} and ran for about {}: if its number is in {}, set unit = \"{}\" in [process] "
      "time; unit = \"ms\" keeps it",
      base::human_time_ms(time_ms), base::human_time_ms(ran_ms), unit, unit);
}

bool BenchQueue::idle() const { return ready_.empty() && run_.devices.busy() == 0; }

bool BenchQueue::may_compile() const { return !run_.alternates || (idle() && !devices_turn_); }

void BenchQueue::add_compiled(const TrialPtr& trial, bool ok) {
  if (trial->purpose == Trial::Purpose::calibrate)
    run_.calibration.compiled(trial, ok);
  else if (ok)
    ready_.push_front(trial);
}

void BenchQueue::begin_turn() {
  if (run_.alternates && !ready_.empty()) devices_turn_ = true;
}

void BenchQueue::end_turn() {
  if (idle()) devices_turn_ = false;
}

void BenchQueue::cut() {
  cut_ = true;
  ready_.clear();
}

void BenchQueue::give_work() {
  start_idle();
  if (ready_.empty() || cut_) return;
  run_.devices.prepare_further();
  if (seek_calibration()) start_idle();
}

void BenchQueue::start_idle() {
  for (PooledDevice& device : run_.devices.all())
    if (!device.busy) start(device);
}

void BenchQueue::start(PooledDevice& device) {
  const bool is_first = run_.devices.is_first(device);
  if (!ready_.empty())
    if (const TrialPtr trial = run_.calibration.wanted_of(device)) return calibrate(device, trial);
  if (!is_first && device.state != PooledDevice::State::in_use) return;
  const auto next = std::find_if(ready_.begin(), ready_.end(), [&](const TrialPtr& trial) {
    return is_first || trial->purpose != Trial::Purpose::drift;
  });
  if (next == ready_.end()) return;
  const TrialPtr trial = *next;
  ready_.erase(next);
  if (trial->purpose == Trial::Purpose::drift) return measure_incumbent(trial);
  device.busy = true;
  BenchJob job = run_.bench_job(*trial);
  if (const auto bar = run_.outcomes.incumbent().bar(); bar && run_.races() && trial->purpose == Trial::Purpose::search)
    job.incumbent = measure::scaled(*bar, device.slowness * run_.keeper.slowness());
  device.bench->bench(job, run_.bench_timeout_s(),
                      [this, trial, &device](const BenchAnswer& answer) { take(trial, device, answer); });
}

void BenchQueue::take(const TrialPtr& trial, PooledDevice& device, const BenchAnswer& answer) {
  ++run_.totals.answers;
  device.busy = false;
  run_.totals.device_busy_s += answer.busy_s;
  if (answer.no_device) {
    ready_.push_front(trial);
    return run_.devices.exclude(device, answer.message);
  }
  // The first is like all others.
  if (run_.spec.process && answer.outcome == Outcome::ok && !std::exchange(compared_time_unit_, true))
    if (const std::string warning = time_unit_warning(*run_.spec.process, answer); !warning.empty())
      run_.observer.on_warning(warning);
  if (!answer.changed.empty() && !std::exchange(warned_of_change_, true))
    run_.observer.on_warning(fmt::format(
        "{}: the kernel {} in its process, so a new process measures the next one; such results are tainted: they rank "
        "last",
        space::shown_text(trial->record.config), answer.changed));
  warn_of_few_samples(trial->record.config, answer);
  fill_record(trial->record, *trial, device.device, answer);
  trial->lack = answer.lack;
  run_.outcomes.incumbent().count_race();
  run_.outcomes.finish(*trial, answer.log);
  follow_drift();
}

void BenchQueue::warn_of_few_samples(const Bindings& config, const BenchAnswer& answer) {
  const auto min_rep = static_cast<std::size_t>(run_.spec.measure.min_rep);
  const bool short_of_time = answer.busy_s > run_.spec.measure.timeout_s / 4;  // one launch takes at least as long
  if (answer.outcome != Outcome::ok || !short_of_time || answer.samples_ms.size() >= min_rep) return;
  if (std::exchange(warned_of_few_samples_, true)) return;
  run_.observer.on_warning(fmt::format(
      "{}: {} of at least {} samples in the {:g} s of [measure] timeout_s; a larger timeout_s allows more, and a "
      "min_rep of {} is enough for this one",
      space::shown_text(config), answer.samples_ms.size(), min_rep, run_.spec.measure.timeout_s,
      answer.samples_ms.size()));
}

/// While configurations wait, comparing the further devices pays off. Returns whether they can be compared now: an
/// artifact that this run has compiled is taken from the cache, without waiting for the compilers' queue.
bool BenchQueue::seek_calibration() {
  const auto wanted = run_.calibration.take_wanted();
  if (!wanted) return false;
  const TrialPtr trial = run_.make_trial(wanted->index, Trial::Purpose::calibrate);
  if (!wanted->artifact) {
    run_.compiles.start(trial);  // from the cache
    return false;
  }
  trial->artifact = *wanted->artifact;
  run_.calibration.compiled(trial, true);
  return true;
}

void BenchQueue::calibrate(PooledDevice& device, const TrialPtr& trial) {
  device.busy = true;
  device.bench->bench(run_.bench_job(*trial), run_.bench_timeout_s(),
                      [this, &device, trial](const BenchAnswer& answer) {
                        ++run_.totals.answers;
                        device.busy = false;
                        run_.totals.device_busy_s += answer.busy_s;
                        if (answer.no_device) return run_.devices.exclude(device, answer.message);
                        store::Record record = trial->record;
                        fill_record(record, *trial, device.device, answer);
                        if (answer.outcome == Outcome::ok) {
                          record.drift = true;
                          record.compile_s = record.compile_cpu_s = 0;
                          run_.keeper.stamp(record);
                          run_.keeper.store(record);
                        }
                        run_.calibration.take(device, trial, record);
                      });
}

bool BenchQueue::follow_drift(bool last) {
  const auto index = run_.races() && !cut_ ? run_.outcomes.incumbent().take_due(last) : std::nullopt;
  if (index) run_.compiles.start(run_.make_trial(*index, Trial::Purpose::drift));  // from the cache
  return index.has_value();
}

void BenchQueue::measure_incumbent(const TrialPtr& trial) {
  PooledDevice& first = run_.devices.first();
  RoundsJob job{{run_.bench_job(*trial)}, std::vector<std::vector<std::size_t>>(IncumbentTracker::check_rounds, {0})};
  first.busy = true;
  first.bench->measure_rounds(job, run_.bench_timeout_s(), [this, trial](const RoundsAnswer& answer) {
    ++run_.totals.answers;
    run_.devices.first().busy = false;
    run_.totals.device_busy_s += answer.busy_s;
    take_drift(*trial, answer);
  });
}

void BenchQueue::take_drift(const Trial& trial, const RoundsAnswer& answer) {
  if (answer.outcome == Outcome::wrong_result) {
    store::Record record = trial.record;
    record.outcome = answer.outcome;
    record.stage = "validate";
    record.message = answer.message;
    record.bench_s = answer.busy_s;
    run_.keeper.stamp(record);
    run_.keeper.keep(record, answer.lack);
    run_.observer.on_record(record, answer.log, false);
    run_.outcomes.results().add_further(record);
    run_.outcomes.refute(record);
  }
  // Even if it failed, or another one is the best by now, the count starts again.
  const store::Record* const known = run_.outcomes.incumbent().remeasured(trial.record.key);
  if (!known || answer.outcome != Outcome::ok || answer.samples_ms.empty() || answer.samples_ms[0].empty()) return;
  store::Record record = *known;
  record.device = run_.devices.first().device;
  record.drift = true;
  record.samples_ms = answer.samples_ms[0];
  record.time_ms = measure::summarize(record.samples_ms);
  record.tainted = answer.taints;
  record.compile_s = record.compile_cpu_s = 0;
  record.bench_s = answer.busy_s;
  const bool clean = record.tainted.empty();
  const double before = run_.keeper.slowness();
  if (clean && known->tainted.empty())
    run_.keeper.follow_speed(measure::scaled(known->time_ms, 1 / run_.devices.slowness_of(known->device)),
                             record.time_ms);
  run_.keeper.stamp(record);
  run_.keeper.store(record);
  if (!clean) return;
  run_.outcomes.follow_speed(record.key, before);
  run_.outcomes.incumbent().update(record.key, record.time_ms);
}

}  // namespace xtune::run

// Appends records to the run's file and counts those that could not be written.
#include "core/run/record_keeper.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "core/measure/finals.hpp"
#include "core/space/value.hpp"
#include "core/spec/process_spec.hpp"
#include "core/store/objective.hpp"
#include "core/store/record_check.hpp"
#include "system/processes.hpp"
#include "xtune/error.hpp"

namespace xtune::run {

double limit_beside_key(const spec::Spec& spec, std::string_view stage) {
  if (stage == "compile") return spec.kernel.compile_timeout_s;
  return spec.process ? spec.process->timeout_s : 0;
}

bool answers_under_limits(const store::Record& record, const spec::Spec& spec) {
  if (record.outcome != Outcome::timed_out) return true;
  return limit_beside_key(spec, record.stage) <= record.limit_s;
}

void TimeStamps::learn(const store::KeyDigest& key, std::int64_t unix_time_ms) {
  if (unix_time_ms < start_ms_) return;
  std::int64_t& newest = ahead_[key];
  newest = std::max(newest, unix_time_ms);
}

std::int64_t TimeStamps::next(const store::KeyDigest& key, bool later) {
  last_ms_ = std::max(last_ms_ + later, clock_.unix_time_ms());
  const auto found = ahead_.find(key);
  if (found == ahead_.end()) return last_ms_;
  return found->second = std::max(last_ms_, found->second + 1);
}

RecordKeeper::RecordKeeper(const RunContext& run)
    : run_(run),
      stamps_(run.services.clock),
      writer_(run.options.store, run.target.device.arch, run.spec.kernel.name, run.options.attempt) {}

void RecordKeeper::set_reference(store::ReferenceTime time) {
  if (reference_) return;
  reference_ = std::move(time);
  renew_reference(std::move(reference_->samples_ms));
}

void RecordKeeper::renew_reference(std::vector<double> samples_ms) {
  for (double& sample_ms : samples_ms) sample_ms = store::kept_time_ms(sample_ms);
  reference_->samples_ms = std::move(samples_ms);
}

void RecordKeeper::follow_speed(const measure::Summary& first, const measure::Summary& now) {
  const double slowness = now.median / first.median, change = slowness / slowness_;
  const bool apart = now.low > first.high * slowness_ || now.high < first.low * slowness_;
  if (apart && std::max(change, 1 / change) > 1 + measure::finals_least_drift) slowness_ = slowness;
}

void RecordKeeper::stamp(store::Record& record, bool later) {
  if (run_.resolver.reference_changed())
    if (const auto config = run_.space.ordered(record.config)) run_.set_keys(record, *config, record.artifact_key);
  const bool elsewhere = run_.services.remote && !record.host.empty();
  if (!elsewhere) record.host = system::host_name();
  record.attempt = run_.options.attempt;
  record.unix_time_ms = stamps_.next(store::KeyDigest(record.key), later);
  if (!elsewhere) record.reference = record.outcome == Outcome::ok ? reference_ : std::nullopt;
  record.limit_s = record.outcome == Outcome::timed_out ? limit_beside_key(run_.spec, record.stage) : 0;
  record.slowness = record.time_ms.count > 0 && record.finals.empty() ? slowness_ : 1;
  record.time_ms = measure::scaled(record.time_ms, 1 / record.slowness);
  record.objective = run_.criterion.finals_by();
  record.score.reset();
  if (record.objective.empty() || record.outcome != Outcome::ok) return;
  const double score = run_.criterion.of(record);
  if (std::isfinite(score))
    record.score = score;
  else if (!std::exchange(warned_of_goal_, true))
    warn_of_goal(record);
}

/// A goal without a value because this device does not tell a quantity.
void RecordKeeper::warn_of_goal(const store::Record& record) const {
  const Bindings known = store::measured_names(record, record.time_ms.median);
  for (const spec::ObjectiveSpec::Goal& goal : run_.spec.objective.goals) {
    const space::Expression expression = spec::parse_expression(goal.expression);
    for (const std::string& name : expression.names())
      if (std::ranges::find(spec::quantity_names(), name) != spec::quantity_names().end() && !known.contains(name))
        run_.observer.on_warning(
            spec::spec_error(run_.spec, goal.expression.at,
                             fmt::format("the goal has no value: {} was not measured on {} (backend {})", name,
                                         record.device.name, record.device.backend))
                .what());
  }
}

void RecordKeeper::store(const store::Record& record) {
  run_.resolver.throw_if_data_changed();
  if (!run_.measures()) return;
  try {
    writer_.append(record);
    unsynced_ = true;
    if (run_.options.peers) run_.options.peers->stored_one();
  } catch (const Error& error) {
    peers_lack_some_ = true;
    ++not_stored_;
    if (std::exchange(failure_, error.what()) != error.what()) run_.observer.on_warning(error.what());
  }
}

void RecordKeeper::keep(const store::Record& record, build::Lack lack) {
  if (lack == build::Lack::none && !store::is_stored_shortage(record)) return store(record);
  peers_lack_some_ = true;
  if (++by_machine_ == 1)
    run_.observer.on_warning(
        fmt::format("{}: {}, not stored because {}: {}", space::shown_text(record.config), to_string(record.outcome),
                    lack == build::Lack::unclear ? "what is missing or limited may be outside of the source"
                                                 : "the machine may have lacked something",
                    base::printable(record.message, 500)));
}

void RecordKeeper::sync_for_peers() {
  if (!std::exchange(unsynced_, false)) return;
  try {
    writer_.sync();
  } catch (const Error& error) {
    peers_lack_some_ = true;
    run_.observer.on_warning(error.what());
  }
}

void RecordKeeper::finish() {
  try {
    writer_.sync();
  } catch (const Error& error) {
    run_.observer.on_warning(error.what());
  }
  if (not_stored_ > 1)
    run_.observer.on_warning(
        fmt::format("{} records could not be stored: later runs will measure them again", not_stored_));
  if (by_machine_ > 1)
    run_.observer.on_warning(fmt::format(
        "{} failures are not stored, since the machine may have caused them: later runs try them again", by_machine_));
}

}  // namespace xtune::run

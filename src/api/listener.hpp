// Passes the tuner's events on to the application.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/measurement.hpp"
#include "base/causes.hpp"
#include "core/run/tuner.hpp"
#include "core/spec/spec.hpp"
#include "xtune/tune.hpp"

namespace xtune {

/// Keeps the warnings as well. All arguments must outlive it.
class Listener final : public run::TuneObserver {
 public:
  /// attempts: the ids of this call's runs, whose records did not come from the store.
  Listener(const TuneSettings& settings, const spec::Spec& spec, const std::set<std::string>& attempts)
      : settings_(settings), spec_(spec), attempts_(attempts) {}

  void on_record(const record::Record& record, const std::string& log, bool /*from_store*/) override {
    if (settings_.on_measurement) settings_.on_measurement(measurement_of(spec_, record, attempts_), log);
  }
  void on_progress(const run::Progress& progress) override {
    if (!settings_.on_progress) return;
    TuneProgress report;
    report.done = progress.done;
    report.total = progress.total;
    report.from_store = progress.from_store;
    report.compiling = progress.compiling;
    report.waiting = progress.waiting;
    report.elapsed_s = progress.elapsed_s;
    if (progress.best) report.best_ms = measure::statistic(progress.best->time_ms, spec_.measure.statistic);
    settings_.on_progress(report);
  }
  void on_note(const std::string& text) override {
    if (settings_.on_log) settings_.on_log(text);
  }
  /// Passes each cause on once; warnings() has the counts.
  void on_warning(const std::string& text) override {
    if (causes_.add(text) && settings_.on_log) settings_.on_log("warning: " + text);
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const base::Cause& cause : causes_.all()) texts.push_back(cause.text());
    return texts;
  }

 private:
  base::Causes causes_;
  const TuneSettings& settings_;
  const spec::Spec& spec_;
  const std::set<std::string>& attempts_;
};

}  // namespace xtune

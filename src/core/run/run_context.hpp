// The inputs of a run, constants derived from them, and one configuration on the way to its record.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/device/device_info.hpp"
#include "core/measure/device.hpp"
#include "core/resolve/measurement_keys.hpp"
#include "core/resolve/resolve.hpp"
#include "core/run/search_path.hpp"
#include "core/run/services.hpp"
#include "core/run/tuner.hpp"
#include "core/store/objective.hpp"
#include "core/store/record.hpp"
#include "core/store/store_view.hpp"

namespace xtune::run {

struct Trial {
  enum class Purpose {
    search,     ///< proposed by the strategy
    settle,     ///< lost a race against another best than today's: is measured in full
    drift,      ///< the incumbent, measured once more
    calibrate,  ///< one that passed before, measured in full to compare devices
    finalist,   ///< measured in finals
    probe,      ///< compiled only, to find out whether all fail alike (common_failure.hpp)
  };
  Purpose purpose = Purpose::search;
  SearchPath::Proposal proposal;
  space::Config config;
  device::LaunchPlan launch;
  build::CompileRequest request;
  build::Artifact artifact;
  store::Record record;
  build::Lack lack = build::Lack::none;  ///< resource that the machine lacked: its record is not stored
  /// settle: the index of the pruned record in TuneResult::records; unset: the pruned result is a row of the store.
  std::optional<std::size_t> replaces;
};
using TrialPtr = std::shared_ptr<Trial>;

/// The work of the workers for a run so far.
struct WorkerTotals {
  std::uint64_t answers = 0;  ///< of compilers, devices and other processes
  double device_busy_s = 0;   ///< as TuneResult
  double compile_cpu_s = 0;   ///< as TuneResult
  double compile_wall_s = 0;  ///< as TuneResult
};

/// Fills the trial's record from a bench worker's answer: all except key, configuration and the compiler's report.
void fill_record(store::Record& record, const Trial& trial, const device::DeviceInfo& device,
                 const BenchAnswer& answer);

/// One spec and problem on one kind of device. Constant during a run; every part of the run has a reference to it.
struct RunContext {
  /// poll: as in Space. The references must outlive this.
  RunContext(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
             const TuneServices& services, TuneObserver& observer, const std::function<void()>& poll);
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  const spec::Spec& spec;
  const Bindings& problem;
  const run::Target& target;
  const TuneOptions& options;
  const TuneServices& services;
  TuneObserver& observer;
  const space::Space space;
  const resolve::CandidateResolver resolver;
  mutable resolve::MeasurementKeys keys;  ///< caches its last texts
  const Knowledge suggested;              ///< candidates and the default; empty in runs of given configurations
  const store::Objective objective;
  const store::Criterion criterion;  ///< with a score if the time is not the only criterion
  const std::uint64_t evals;
  const bool alternates;            ///< compiling and measuring take turns, as on a CPU
  const std::size_t max_in_flight;  ///< configurations

  /// A trial with its record's keys, but without a launch.
  TrialPtr make_trial(std::uint64_t index) const;
  /// A trial with its launch, for a configuration that the space allows and that has passed or may pass.
  TrialPtr make_trial(std::uint64_t index, Trial::Purpose purpose) const;
  /// Calls visit(key) for those that the configuration may have (resolve.hpp), until it returns true, and returns the
  /// last result. A stored result of one of them answers for it.
  bool any_key(const space::Config& config, const std::function<bool(const store::KeyDigest&)>& visit) const;
  /// Sets the record's keys to those of this artifact.
  void set_keys(store::Record& record, const space::Config& config, const std::string& artifact_key) const;
  CompileJob compile_job(const std::string& key, build::CompileRequest request) const;
  BenchJob bench_job(const Trial& trial) const;
  /// After which a worker is killed: [measure] timeout_s, which the worker keeps itself where it can (measure::Budget),
  /// and what does not count: wait_s, timeout_s again for each call of a check, and for a reference on fresh inputs the
  /// time that a reference may take.
  double bench_timeout_s() const;

  /// Whether the run may choose what is compiled when: not with a limit of time, whose end cuts the order off, and not
  /// for processes of a job, which need one path.
  bool arranges_compiles() const { return !spec.search.seconds && !options.peers; }
  /// Whether challengers are measured only while they can still win.
  bool races() const { return spec.measure.race && !criterion.score && options.only.empty() && !services.remote; }
  bool holds_finals() const {
    return criterion.times && (options.compare || (spec.measure.finals >= 2 && options.only.empty()));
  }
  /// Whether the times of configurations that passed are known.
  bool measures() const { return !options.validate_only; }
  std::size_t max_finalists() const { return static_cast<std::size_t>(std::max(spec.measure.finals, 1)); }
  /// Whether all stored results are read completely: an advisor gets them.
  bool reads_all() const { return !options.best_only || criterion.score || spec.search.advisor; }
  /// Whether it was stored by this process or one of its peers.
  bool is_of_job(std::int64_t unix_time_ms) const {
    return options.peers && unix_time_ms >= options.peers->began_unix_ms();
  }
  std::uint64_t planned() const;  ///< maximum number of evaluations
};

}  // namespace xtune::run

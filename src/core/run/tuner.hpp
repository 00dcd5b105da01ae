// The tuner: one spec, one problem, devices of one kind; from proposals to records.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/run/services.hpp"
#include "core/run/target.hpp"
#include "core/spec/spec.hpp"
#include "core/store/best.hpp"
#include "core/store/record.hpp"
#include "system/clock.hpp"
#include "system/event_loop.hpp"
#include "xtune/result.hpp"

namespace xtune {
class RemoteDevices;
}  // namespace xtune
namespace xtune::store {
class GrowingRecords;
}  // namespace xtune::store

namespace xtune::run {

struct TuneOptions {
  std::filesystem::path store;           ///< records and artifacts
  std::filesystem::path artifacts = {};  ///< the store of artifacts; empty: store
  std::filesystem::path scratch;         ///< private to this run and this problem
  std::string attempt;                   ///< id of this run, in every record it writes
  bool sanitize = false;
  bool fresh = false;         ///< measure configurations again that the store has results for
  bool transfer = true;       ///< use records of other devices and problems to guide the search
  bool retry_failed = false;  ///< try stored crashes and timeouts again
  /// Other programs use the CPUs that measure (system/machine.hpp): tainted results are not measured again now.
  bool busy = false;
  bool keep_going = false;  ///< compile all configurations, even if the first ones fail alike
  std::size_t top = 1;      ///< number of best configurations that are measured in full, despite the race
  /// Once it is true no new work is started: running measurements are finished and kept, and the run ends.
  const std::atomic<bool>* drain = nullptr;
  /// The store's records of this kernel and architecture, if several searches share them; null: the run reads them
  /// itself.
  store::GrowingRecords* records = nullptr;
  Peers* peers = nullptr;  ///< other processes that share the search; must outlive the run
  /// If set, stored results stay rows of about 200 bytes, and whole records are read only for those that may be among
  /// this many best, tie with the best, or are the example of a failure. Objectives other than a statistic of the time
  /// need all whole records. Unset: all are read.
  std::optional<std::size_t> best_only;
  /// Not empty: exactly these configurations, each in full; those that the space does not allow are skipped.
  std::vector<Bindings> only;
  /// With `only`: those that pass meet in finals, whatever their number and however slow they are. Their records are in
  /// TuneResult::further.
  bool compare = false;
  /// Each configuration is compiled, launched and compared, and nothing is measured: an ok record has no samples. The
  /// store's records are neither read nor written; its artifacts are used. With `only`.
  bool validate_only = false;
  /// Compiling and measuring take turns, as they do on a CPU in any case: the compiler disturbs this process.
  bool alternate = false;

  const std::filesystem::path& artifact_store() const noexcept { return artifacts.empty() ? store : artifacts; }
};

/// The progress of a run.
struct Progress {
  std::uint64_t done = 0, total = 0, from_store = 0;
  std::size_t compiling = 0, waiting = 0;  ///< in the pool; compiled and queued for the device
  bool finals = false;                     ///< the search is over
  double elapsed_s = 0;
  const store::Record* best = nullptr;       ///< of a stored result possibly only configuration and times
  const Bindings* default_config = nullptr;  ///< null: there is none
};

/// Called on the tuner's thread.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  /// log: the compiler's or sanitizer's output, empty for stored records.
  virtual void on_record(const store::Record& /*record*/, const std::string& /*log*/, bool /*from_store*/) {}
  /// Whether on_record receives stored records even if TuneOptions::best_only would leave them unread.
  virtual bool wants_stored() const { return true; }
  /// Called before the first configuration. progress returns the run's progress at any time, on the tuner's thread (for
  /// example from a timer of the loop), until tune() returns or throws.
  virtual void on_begin(std::function<Progress()> /*progress*/) {}
  /// Called when a configuration has ended.
  virtual void on_progress(const Progress& /*progress*/) {}
  virtual void on_note(const std::string& /*text*/) {}
  virtual void on_warning(const std::string& /*text*/) {}
};

/// The part of the program of [search] advisor in a run.
struct AdvisorResult {
  std::uint64_t questions = 0;  ///< number of times that it was asked
  std::uint64_t proposed = 0;   ///< configurations in its answers
  std::uint64_t refused = 0;    ///< part of proposed that could not be tried
  std::uint64_t tried = 0;      ///< part of proposed that the search took
};

struct TuneResult {
  Bindings problem;
  device::DeviceInfo device;
  /// Every configuration that this run evaluated, including stored ones, but without those that TuneOptions::best_only
  /// left unread; ties with the best that are not among the requested best have only key, configuration and times.
  std::vector<store::Record> records;
  std::map<Outcome, std::uint64_t> unread;  ///< number of evaluated ones that are not among the records
  std::uint64_t evaluated() const;
  /// Other records on which the answer is based: those of finals, and stored results of configurations that this run
  /// did not evaluate, if they may be the best.
  std::vector<store::Record> further;
  std::vector<const store::Record*> all() const;  ///< both
  /// Puts the times of all records on the scale of the best one's (store::put_on_one_scale), as tune() returns them.
  void scale_times(const store::Criterion& criterion);
  std::uint64_t space_size = 0;
  /// What a call runs without a measurement (model::default_order); unset: the space is empty.
  std::optional<Bindings> default_config;
  std::map<Outcome, std::uint64_t> counts;
  std::uint64_t from_store = 0;
  std::uint64_t from_peers = 0;  ///< part of from_store: measured by other processes of this job
  double total_s = 0;
  double compile_cpu_s = 0;   ///< CPU time of compile workers and their children
  double compile_wall_s = 0;  ///< from the first compile job's start to the last one's end
  double device_busy_s = 0;   ///< wall clock that bench workers spent on configurations: load, validate, measure
  bool interrupted = false;   ///< by `stop` or `drain`
  bool out_of_time = false;   ///< [search] seconds ended it
  std::optional<AdvisorResult> advisor;  ///< unset: none was asked
  std::optional<Prediction> prediction;  ///< of predict(); then nothing else was found
  double slowdown = 1;        ///< of the device between the search and the finals: store::Standings::slowdown
  std::size_t finalists = 0;  ///< 0: one configuration was clearly the best, or no finals were requested or reached
};

/// The services of a run. The references must outlive it.
struct TuneServices {
  system::EventLoop& loop;
  CompileService& compiler;
  std::vector<BenchService*> benches;  ///< for target.device, then for each of target.further
  system::Clock& clock;
  const std::atomic<bool>& stop;
  RemoteDevices* remote = nullptr;  ///< set: these compile and measure, in the place of compiler and benches
};

/// A further device takes part if configurations wait for one, after it has measured a configuration in full that the
/// first one has measured too: if its time differs by more than 2 %, or it fails or cannot be opened, there is a
/// warning and it measures nothing else. Finals are held only on the first one.
///
/// Runs on services.loop until the strategy is done, the budget is spent or services.stop becomes true; then all work
/// in flight is abandoned, and its measurements are kept. A tenth of [search] seconds is reserved for the finals.
/// Throws Error; records appended before that stay in the store.
TuneResult tune(const spec::Spec& spec, const Bindings& problem, const run::Target& target, const TuneOptions& options,
                const TuneServices& services, TuneObserver& observer);

/// The answer of a run with [search] effort "none": a prediction by the store's records of this problem, else of other
/// devices and problems (TuneOptions::transfer), else by the spec's [candidates], else its default. Nothing is
/// compiled, measured or stored. poll: as in Space. Throws Error.
TuneResult predict(const spec::Spec& spec, const Bindings& problem, const run::Target& target,
                   const TuneOptions& options, const std::function<void()>& poll = {});

}  // namespace xtune::run

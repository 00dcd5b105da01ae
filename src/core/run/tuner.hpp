// The tuner: one spec, one problem, devices of one kind; from proposals to records.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/event_loop.hpp"
#include "core/record/best.hpp"
#include "core/record/record.hpp"
#include "core/run/peers.hpp"
#include "core/spec/spec.hpp"
#include "core/target/target.hpp"
#include "ipc/services.hpp"

namespace xtune::store {
class GrowingRecords;
}  // namespace xtune::store

namespace xtune::run {

struct TuneOptions {
  std::filesystem::path store;    ///< records and artifacts
  std::filesystem::path scratch;  ///< private to this run, and to this problem
  std::string attempt;            ///< id of this run, in every record it writes
  bool sanitize = false;
  bool fresh = false;         ///< measure again what the store already answers
  bool transfer = true;       ///< records of other devices and problems guide the search
  bool retry_failed = false;  ///< try stored crashes and timeouts again
  std::size_t top = 1;        ///< so many of the best are measured in full, whatever the race
  /// Once it is true nothing new is begun: what the device is at is finished and kept, and the run ends.
  const std::atomic<bool>* drain = nullptr;
  /// The store's records of this kernel and architecture, where several searches read them; null: reads them itself.
  store::GrowingRecords* records = nullptr;
  Peers* peers = nullptr;  ///< other processes at the same search; outlives the run
  /// Where set, stored results stay rows of some 200 bytes, and only those are read whole that may be among so many
  /// best, tie with the best, or are the example of a failure. Objectives other than a statistic of the time need all
  /// of them whole. Unset: all are.
  std::optional<std::size_t> best_only;
  /// Not empty: these configurations and no others, each in full; those that the space does not allow are passed over.
  std::vector<Bindings> only;
};

/// Where a run stands.
struct Progress {
  std::uint64_t done = 0, total = 0, from_store = 0;
  std::size_t compiling = 0, waiting = 0;  ///< in the pool; compiled and queued for the device
  bool finals = false;                     ///< the search is over
  double elapsed_s = 0;
  const record::Record* best = nullptr;  ///< of a stored result perhaps nothing but configuration and times
};

/// Called on the tuner's thread.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  /// log: the compiler's or sanitizer's output, empty for stored records.
  virtual void on_record(const record::Record& /*record*/, const std::string& /*log*/, bool /*from_store*/) {}
  /// Whether on_record is to get stored records too, where TuneOptions::best_only would leave them unread.
  virtual bool wants_stored() const { return true; }
  /// Before the first configuration. progress says where the run stands, as often as it is asked, on the tuner's
  /// thread (from a timer of the loop, say), until tune() returns or throws.
  virtual void on_begin(std::function<Progress()> /*progress*/) {}
  /// Whenever something ended.
  virtual void on_progress(const Progress& /*progress*/) {}
  virtual void on_note(const std::string& /*text*/) {}
  virtual void on_warning(const std::string& /*text*/) {}
};

struct TuneResult {
  Bindings problem;
  device::DeviceInfo device;
  /// Every configuration that this run evaluated, stored ones included, but for those that TuneOptions::best_only left
  /// unread; of what ties with the best without being among so many best, nothing but key, configuration and times.
  std::vector<record::Record> records;
  std::map<Outcome, std::uint64_t> unread;  ///< evaluated ones that are not among the records
  std::uint64_t evaluated() const;
  /// What else its answer rests on: the records of finals, and stored results of configurations that this run did not
  /// evaluate where they may be the best.
  std::vector<record::Record> further;
  std::vector<const record::Record*> all() const;  ///< both
  std::uint64_t space_size = 0;
  std::map<Outcome, std::uint64_t> counts;
  std::uint64_t from_store = 0;
  std::uint64_t from_peers = 0;  ///< of from_store: measured by other processes of this job
  double total_s = 0;
  double compile_cpu_s = 0;   ///< CPU time of compile workers and their children
  double compile_wall_s = 0;  ///< from the first compile job's start to the last one's end
  double device_busy_s = 0;   ///< wall clock that bench workers spent on configurations: load, validate, measure
  bool interrupted = false;   ///< by `stop` or `drain`
  bool out_of_time = false;   ///< [search] seconds ended it
  std::size_t finalists = 0;  ///< 0: one configuration was clearly the best, or no finals were asked for or reached
};

/// What a run works with. The references outlive it.
struct TuneServices {
  base::EventLoop& loop;
  ipc::CompileService& compiler;
  std::vector<ipc::BenchService*> benches;  ///< of target.device, then of each of target.further
  base::Clock& clock;
  const std::atomic<bool>& stop;
};

/// A further device takes part where configurations wait for
/// one, once it has measured a configuration in full that the first one has too: one that takes more than 2 % more or
/// less time, fails or cannot be opened is warned of and measures nothing else. Finals are held on the first alone.
///
/// Runs on services.loop until the strategy is done, the budget is spent or services.stop becomes true; then everything
/// in flight is abandoned, what was measured is kept. Of [search] seconds a tenth is left for the finals. Throws Error;
/// records appended before that stay in the store.
TuneResult tune(const spec::Spec& spec, const Bindings& problem, const target::Target& target,
                const TuneOptions& options, const TuneServices& services, TuneObserver& observer);

}  // namespace xtune::run

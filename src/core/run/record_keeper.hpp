// Stores the records of a run: their timestamps and limits, and the count of those that could not be stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/build/shortage.hpp"
#include "core/run/run_context.hpp"
#include "core/spec/spec.hpp"
#include "core/store/index.hpp"
#include "core/store/record.hpp"
#include "core/store/record_log.hpp"
#include "system/clock.hpp"

namespace xtune::run {

/// The limit for a record's stage, in seconds: kernel.compile_timeout_s for "compile", [process] timeout_s for a
/// program. 0: the limit is part of the key, as [measure] timeout_s for kernels.
double limit_beside_key(const spec::Spec& spec, std::string_view stage);

/// Whether a record is valid under today's limits. One that timed out is not if today's limit is larger, or if the
/// record does not contain its limit, as in earlier versions.
bool answers_under_limits(const store::Record& record, const spec::Spec& spec);

/// For each key the newest record counts, so a run's records must be newer than all that it has read with their keys,
/// even if the clock goes back, or was ahead when an earlier run wrote its records.
class TimeStamps {
 public:
  explicit TimeStamps(system::Clock& clock) : clock_(clock), start_ms_(clock.unix_time_ms()), last_ms_(start_ms_) {}

  void learn(const store::KeyDigest& key, std::int64_t unix_time_ms);
  /// Unix time in ms: the clock's, but at least the last stamp (later: after it), and after all records of the key.
  std::int64_t next(const store::KeyDigest& key, bool later = false);

 private:
  system::Clock& clock_;
  const std::int64_t start_ms_;
  std::int64_t last_ms_;
  std::unordered_map<store::KeyDigest, std::int64_t, store::KeyDigestHash>
      ahead_;  ///< newest time; only if it is after the run's start
};

/// If the store cannot be written, the run continues: there is one warning for each cause of lost records, and the
/// other processes of the job are known to miss them. A failure that the machine may have caused counts in this run's
/// search and is not stored.
class RecordKeeper {
 public:
  explicit RecordKeeper(const RunContext& run);

  /// A record with this key and time exists: stamps of this run must be newer.
  void learn(const store::KeyDigest& key, std::int64_t unix_time_ms) { stamps_.learn(key, unix_time_ms); }
  std::int64_t next_stamp(const store::KeyDigest& key) { return stamps_.next(key); }
  /// The reference's time, for the records that follow; of several devices, the first one's counts.
  void set_reference(store::ReferenceTime time);
  bool has_reference() const noexcept { return reference_.has_value(); }
  /// Its samples from the finals, for the records of these.
  void renew_reference(std::vector<double> samples_ms);
  /// A configuration takes `now`, and took `first`, which is corrected for the slowness at that time. If this
  /// is a change by more than measure::finals_least_drift, and the intervals are apart, their ratio is the slowness
  /// from now on.
  void follow_speed(const measure::Summary& first, const measure::Summary& now);
  /// By how much slower the first device is than at the run's start, as far as is known.
  double slowness() const noexcept { return slowness_; }
  /// Sets host, attempt, time, the reference's time if it passed, and the time limit if it timed out. Corrects the
  /// times for the slowness, except those of finals. A record of another machine keeps its host and reference. later:
  /// as TimeStamps::next.
  void stamp(store::Record& record, bool later = false);
  /// Throws Error(io) if data that the measurement keys describe has changed.
  void store(const store::Record& record);
  /// Stores it if the machine did not lack resources, as the worker or the message says; else warns about the first
  /// such record.
  void keep(const store::Record& record, build::Lack lack);

  /// Makes records that were stored since the last call visible to other processes: an NFS client may buffer them for
  /// half a minute.
  void sync_for_peers();
  /// Whether other processes miss a record of this one.
  bool peers_lack_some() const noexcept { return peers_lack_some_; }
  /// At the end of the run: syncs, and warns how many records were not stored.
  void finish();

 private:
  void warn_of_goal(const store::Record& record) const;

  const RunContext& run_;
  TimeStamps stamps_;
  std::optional<store::ReferenceTime> reference_;
  double slowness_ = 1;
  store::RecordWriter writer_;
  bool unsynced_ = false;  ///< records were stored since sync_for_peers
  bool peers_lack_some_ = false;
  bool warned_of_goal_ = false;
  std::uint64_t not_stored_ = 0;
  std::uint64_t by_machine_ = 0;  ///< failures that the machine may have caused
  std::string failure_;           ///< of the store, in the last warning
};

}  // namespace xtune::run

// Stores the records of a run, and counts those that could not be stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/build/shortage.hpp"
#include "core/record/record_log.hpp"
#include "core/run/run_context.hpp"
#include "core/run/time_stamps.hpp"

namespace xtune::run {

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
  void set_reference(record::ReferenceTime time);
  bool has_reference() const noexcept { return reference_.has_value(); }
  /// Its samples from the finals, for the records of these.
  void renew_reference(std::vector<double> samples_ms);
  /// Sets host, attempt, time, the reference's time if it passed, and the time limit if it timed out.
  void stamp(record::Record& record);
  /// Throws Error(io) if data that the measurement keys describe has changed.
  void store(const record::Record& record);
  /// Stores it if the machine did not lack resources, as the worker or the message says; else warns about the first
  /// such record.
  void keep(const record::Record& record, build::Lack lack);

  /// Makes records that were stored since the last call visible to other processes: an NFS client may buffer them for
  /// half a minute.
  void sync_for_peers();
  /// Whether other processes miss a record of this one.
  bool peers_lack_some() const noexcept { return peers_lack_some_; }
  /// At the end of the run: syncs, and warns how many records were not stored.
  void finish();

 private:
  const RunContext& run_;
  TimeStamps stamps_;
  std::optional<record::ReferenceTime> reference_;
  record::RecordWriter writer_;
  bool unsynced_ = false;  ///< records were stored since sync_for_peers
  bool peers_lack_some_ = false;
  std::uint64_t not_stored_ = 0;
  std::uint64_t by_machine_ = 0;  ///< failures that the machine may have caused
  std::string failure_;           ///< of the store, in the last warning
};

}  // namespace xtune::run

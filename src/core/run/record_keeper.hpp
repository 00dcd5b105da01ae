// Stores the records of a run, and knows what could not be stored.
#pragma once

#include <cstdint>
#include <string>

#include "core/build/shortage.hpp"
#include "core/record/record_log.hpp"
#include "core/run/run_context.hpp"
#include "core/run/time_stamps.hpp"

namespace xtune::run {

/// A store that cannot be written must not cost the user the run: what is lost is warned of, each cause once, and the
/// other processes of the job are known to lack it. A failure that the machine may have caused counts in this run's
/// search and is not stored.
class RecordKeeper {
 public:
  explicit RecordKeeper(const RunContext& run);

  /// A record of this key and time exists: what this run stamps is newer.
  void learn(const store::KeyDigest& key, std::int64_t unix_time_ms) { stamps_.learn(key, unix_time_ms); }
  std::int64_t next_stamp(const store::KeyDigest& key) { return stamps_.next(key); }
  /// Sets host, attempt, time, and the time limit of what timed out.
  void stamp(record::Record& record);
  /// Throws Error(io) where data that the measurement keys describe has changed.
  void store(const record::Record& record);
  /// Stores it where the machine lacked nothing, else warns of the first such record.
  void keep(const record::Record& record, build::Lack lack);

  /// Makes what was stored since the last call visible to other processes: a client of NFS may keep it to itself for
  /// half a minute.
  void sync_for_peers();
  /// Whether other processes do not come to know a record of this one.
  bool peers_lack_some() const noexcept { return peers_lack_some_; }
  /// At the end of the run: syncs, and warns of how much was not stored.
  void finish();

 private:
  const RunContext& run_;
  TimeStamps stamps_;
  record::RecordWriter writer_;
  bool unsynced_ = false;  ///< records were stored since sync_for_peers
  bool peers_lack_some_ = false;
  std::uint64_t not_stored_ = 0;
  std::uint64_t by_machine_ = 0;  ///< failures that the machine may have caused
  std::string failure_;           ///< of the store, warned of last
};

}  // namespace xtune::run

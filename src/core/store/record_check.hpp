// Checks of stored records: by their checksum or by members that follow from each other, by what their messages say
// of the machine, and by their dates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/store/record.hpp"

namespace xtune::store {

// Checks that a record's line proves about itself: by its checksum, or else by members that follow from each other.

/// Whether a line ends in a checksum member, and whether the checksum is right.
enum class Checksum { none, right, wrong };

/// Adds to the text of a JSON object, as its last member, the CRC-32C of the text before that member's comma:
/// ,"checksum":"1a2b3c4d"}. The object has at least one member.
std::string with_checksum(std::string object);
/// line without its newline.
Checksum checksum_of(std::string_view line);

/// Whether it is a time in milliseconds since 1970, before the year 10000: later records would always be the newest.
constexpr bool is_date(std::int64_t unix_ms) { return unix_ms >= 0 && unix_ms < 253'402'300'800'000; }

/// What is wrong with the times of an ok or pruned record; empty: nothing. Times must be finite and positive.
std::string time_damage(const Record& record);
/// The same, and whether the summary follows from the samples.
std::string summary_damage(const Record& record);

/// What is wrong with a record's key, as far as the record shows it; empty: nothing. The key must be the hash of
/// key_parts; the parts artifact, runtime, problem, device and driver must match the record's members. A record without
/// key_parts, or whose key does not have the length of a hash, is not checked.
std::string key_damage(const Record& record);

// Failures that earlier versions stored although the machine caused them.

/// Whether a stored failure was caused by a lack of resources on its machine: such a record is ignored. The rules:
/// - compile_failed, launch_failed, crashed: a build, program or check that "cannot start" for lack of processes,
///   memory, descriptors, the program itself, or permission to run it (a noexec directory); a line of the message in
///   which lack_in_line finds a full disk, a lack of processes, a kill, or a missing library or program; a build that
///   "left an empty file at {out}"; a process that was ended by a signal from elsewhere.
/// - these and wrong_result, of a check: the exit code of a missing program (126, 127).
/// - timed_out, of a compiler: it was stopped more than a second and a half after its limit, which happens only to a
///   process that was suspended.
/// Failures that this version stores do not match any of them. Other time-outs of that kind, and compilers without
/// memory, cannot be distinguished from real ones: `xtune run --retry-failed` tries those again.
bool is_stored_shortage(const Record& record);

// Records that were written with a clock ahead of this machine's.

/// Finds records that are dated after `now`: a clock was wrong when they were written, or is wrong now. Clocks of one
/// cluster may differ by five minutes. Records of replays are skipped, as these have their own clock.
class FutureRecords {
 public:
  explicit FutureRecords(std::int64_t now_unix_ms) : now_ms_(now_unix_ms) {}
  void look_at(const Record& record);
  /// The same for a record's time and its device's backend. True: it is the newest so far; newest_of sets its host.
  bool look_at(std::int64_t unix_time_ms, std::string_view backend);
  void newest_of(std::string host) { host_ = std::move(host); }
  /// "3 records are dated in the future, the newest 2026-11-23 13:10:05 UTC, by host 'node7'"; empty if there are none.
  std::string text() const;

 private:
  std::int64_t now_ms_, newest_ms_ = 0;
  std::size_t count_ = 0;
  std::string host_;
};

}  // namespace xtune::store

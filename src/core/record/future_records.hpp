// Records that were written with a clock ahead of this machine's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/record/record.hpp"

namespace xtune::record {

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

}  // namespace xtune::record

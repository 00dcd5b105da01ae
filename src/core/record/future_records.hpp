// Records that were written under a clock that is ahead of this machine's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/record/record.hpp"

namespace xtune::record {

/// Finds records that are dated after `now`: a clock was wrong when they were written, or is wrong now. Clocks of one
/// cluster may differ by five minutes. Records of replays are left out, as these have a clock of their own.
class FutureRecords {
 public:
  explicit FutureRecords(std::int64_t now_unix_ms) : now_ms_(now_unix_ms) {}
  void look_at(const Record& record);
  /// The same of a record's time and its device's backend. True: it is the newest so far, whose host newest_of tells.
  bool look_at(std::int64_t unix_time_ms, std::string_view backend);
  void newest_of(std::string host) { host_ = std::move(host); }
  /// "3 records are dated in the future, the newest 2026-11-23 13:10:05 UTC, by host 'node7'"; empty: there are none.
  std::string text() const;

 private:
  std::int64_t now_ms_, newest_ms_ = 0;
  std::size_t count_ = 0;
  std::string host_;
};

}  // namespace xtune::record

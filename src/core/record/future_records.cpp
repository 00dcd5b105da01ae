// Compares dates.
#include "core/record/future_records.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "base/utc_time.hpp"

namespace xtune {

constexpr std::int64_t tolerance_ms = 300'000;

void FutureRecords::look_at(const Record& record) {
  if (record.unix_time_ms - now_ms_ <= tolerance_ms || record.device.backend == "replay") return;
  ++count_;
  if (record.unix_time_ms < newest_ms_) return;
  newest_ms_ = record.unix_time_ms;
  host_ = record.host;
}

std::string FutureRecords::text() const {
  if (count_ == 0) return {};
  return fmt::format("{} {} dated in the future, the newest {}, by host '{}'", count_,
                     count_ == 1 ? "record is" : "records are", utc_text(newest_ms_), printable(host_, 80));
}

}  // namespace xtune

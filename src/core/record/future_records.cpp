// Compares dates.
#include "core/record/future_records.hpp"

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace xtune::record {

constexpr std::int64_t tolerance_ms = 300'000;

void FutureRecords::look_at(const Record& record) {
  if (look_at(record.unix_time_ms, record.device.backend)) newest_of(record.host);
}

bool FutureRecords::look_at(std::int64_t unix_time_ms, std::string_view backend) {
  if (unix_time_ms - now_ms_ <= tolerance_ms || backend == "replay") return false;
  ++count_;
  if (unix_time_ms < newest_ms_) return false;
  newest_ms_ = unix_time_ms;
  return true;
}

std::string FutureRecords::text() const {
  if (count_ == 0) return {};
  return fmt::format("{} {} dated in the future, the newest {}, by host '{}'", count_,
                     count_ == 1 ? "record is" : "records are", base::utc_text(newest_ms_), base::printable(host_, 80));
}

}  // namespace xtune::record

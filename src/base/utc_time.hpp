// Times for people.
#pragma once

#include <cstdint>
#include <string>

namespace xtune::base {

/// "2026-11-22 13:10:05 UTC"; the number itself if it is beyond the calendar.
std::string utc_text(std::int64_t unix_time_ms);

}  // namespace xtune::base

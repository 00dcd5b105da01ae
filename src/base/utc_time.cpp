// Uses the C library's calendar.
#include "base/utc_time.hpp"

#include <ctime>

namespace xtune::base {

std::string utc_text(std::int64_t unix_time_ms) {
  const auto seconds = static_cast<std::time_t>(unix_time_ms / 1000);
  std::tm utc{};
  char text[64];
  if (gmtime_r(&seconds, &utc) && std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc) > 0) return text;
  return std::to_string(unix_time_ms) + " ms after 1970";
}

}  // namespace xtune::base

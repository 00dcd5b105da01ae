// ISO 8601, as far as Python's isoformat and str write it.
#include "core/replay/timestamp.hpp"

#include <chrono>

namespace xtune::replay {
namespace {

struct Cursor {
  std::string_view rest;
  bool good = true;

  int digits(std::size_t count) noexcept {
    int number = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i >= rest.size() || rest[i] < '0' || rest[i] > '9') {
        good = false;
        return 0;
      }
      number = number * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(count);
    return number;
  }
  bool take(std::string_view any_of) noexcept {
    if (rest.empty() || any_of.find(rest.front()) == std::string_view::npos) return false;
    rest.remove_prefix(1);
    return true;
  }
};

}  // namespace

std::optional<std::int64_t> unix_time_ms_of(std::string_view text) noexcept {
  Cursor cursor{text};
  const int year = cursor.digits(4);
  cursor.good = cursor.take("-") && cursor.good;
  const int month = cursor.digits(2);
  cursor.good = cursor.take("-") && cursor.good;
  const int day = cursor.digits(2);
  cursor.good = cursor.take(" T") && cursor.good;
  const int hour = cursor.digits(2);
  cursor.good = cursor.take(":") && cursor.good;
  const int minute = cursor.digits(2);
  cursor.good = cursor.take(":") && cursor.good;
  const int second = cursor.digits(2);
  std::int64_t ms = 0;
  if (cursor.take("."))
    for (int scale = 100; !cursor.rest.empty() && cursor.rest[0] >= '0' && cursor.rest[0] <= '9'; scale /= 10)
      ms += scale * cursor.digits(1);
  std::int64_t offset_min = 0;
  if (const bool east = cursor.rest.starts_with('+'); cursor.take("+-")) {
    const int hours = cursor.digits(2);
    cursor.take(":");
    offset_min = (east ? 1 : -1) * (hours * 60 + cursor.digits(2));
  } else {
    cursor.take("Z");
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!cursor.good || !cursor.rest.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60)
    return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute - offset_min) * 60 + second) * 1000 + ms;
}

}  // namespace xtune::replay

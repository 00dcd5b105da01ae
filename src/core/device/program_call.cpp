// Call texts, units of time, and requests as JSON, their members in the order of the documentation.
#include "core/device/program_call.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace xtune::device {

std::string to_call_text(std::string_view plain) {
  std::string text;
  for (const char c : plain) text += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return text;
}

std::string from_call_text(std::string_view text, const ProgramPlaces& places) {
  std::string plain;
  while (!text.empty()) {
    std::size_t taken = 1;
    if (text.starts_with("{{") || text.starts_with("}}")) {
      plain += text.front();
      taken = 2;
    } else if (text.starts_with("{out}")) {
      plain += places.out;
      taken = 5;
    } else if (text.starts_with("{tmp}")) {
      plain += places.tmp;
      taken = 5;
    } else {
      plain += text.front();
    }
    text.remove_prefix(taken);
  }
  return plain;
}

std::vector<std::string> from_call_texts(const std::vector<std::string>& texts, const ProgramPlaces& places) {
  std::vector<std::string> words;
  for (const std::string& text : texts) words.push_back(from_call_text(text, places));
  return words;
}

double milliseconds_in(std::string_view unit) noexcept {
  constexpr std::pair<double, std::array<std::string_view, 9>> units[] = {
      {8.64e7, {"day", "days"}},
      {3.6e6, {"hour", "hours", "h", "hr", "hrs"}},
      {6e4, {"minute", "minutes", "min", "mins"}},
      {1e3, {"s", "sec", "secs", "second", "seconds"}},
      {1, {"ms", "msec", "msecs", "millisecond", "milliseconds"}},
      {1e-3, {"us", "usec", "usecs", "microsecond", "microseconds", "\xC2\xB5s", "\xCE\xBCs", "\xB5s"}},
      {1e-6, {"ns", "nsec", "nsecs", "nanosecond", "nanoseconds"}},
      {1e-9, {"ps", "psec", "psecs", "picosecond", "picoseconds"}}};
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (const auto& [ms, names] : units)
    for (const std::string_view name : names)
      if (!unit.empty() && std::ranges::equal(unit, name, {}, lower)) return ms;
  return 0;
}

// Requests as JSON, their members in the order of the documentation.

nlohmann::ordered_json start_request() { return {{"do", "start"}, {"protocol", server_protocol}}; }

nlohmann::ordered_json measure_request(const ProgramCall& call, std::size_t samples, bool check) {
  nlohmann::ordered_json request{{"do", "measure"}};
  request.update(nlohmann::ordered_json::parse(call.request));
  request["samples"] = samples;
  request["validate"] = request["check"] = check;  // the second: an earlier name, for servers that know it
  return request;
}

}  // namespace xtune::device

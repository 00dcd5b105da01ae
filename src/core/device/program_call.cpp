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
      {3.6e6, {"hour", "hours"}},
      {6e4, {"minute", "minutes"}},
      {1e3, {"s", "sec", "secs", "second", "seconds", "S"}},
      {1, {"ms", "msec", "msecs", "millisecond", "milliseconds"}},
      {1e-3, {"us", "usec", "usecs", "microsecond", "microseconds", "\xC2\xB5s", "\xCE\xBCs"}},
      {1e-6, {"ns", "nsec", "nsecs", "nanosecond", "nanoseconds"}}};
  for (const auto& [ms, names] : units)
    if (!unit.empty() && std::find(names.begin(), names.end(), unit) != names.end()) return ms;
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

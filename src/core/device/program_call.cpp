// Call texts, units of time, and requests as JSON, their members in the order of the documentation.
#include "core/device/program_call.hpp"

#include <nlohmann/json.hpp>

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
  if (unit == "s" || unit == "sec" || unit == "seconds") return 1e3;
  if (unit == "ms" || unit == "msec") return 1;
  if (unit == "us" || unit == "usec" || unit == "\xC2\xB5s" || unit == "\xCE\xBCs") return 1e-3;
  if (unit == "ns" || unit == "nsec") return 1e-6;
  return 0;
}

// Requests as JSON, their members in the order of the documentation.

nlohmann::ordered_json start_request() { return {{"do", "start"}, {"protocol", server_protocol}}; }

nlohmann::ordered_json measure_request(const ProgramCall& call, std::size_t samples, bool check) {
  nlohmann::ordered_json request{{"do", "measure"}};
  request.update(nlohmann::ordered_json::parse(call.request));
  request["samples"] = samples;
  request["check"] = check;
  return request;
}

}  // namespace xtune::device

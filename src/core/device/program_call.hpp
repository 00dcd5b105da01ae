// The call of a program that is tuned: its words, where to find the numbers that it reports, and the requests to a
// server.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xtune::device {

/// A number that a program reports.
struct ProgramValue {
  enum class Form { wall, json, csv, regex };
  std::string name;        ///< of a metric; empty for the time
  Form form = Form::wall;  ///< wall: the wall-clock time of the run
  std::string where;       ///< a path in JSON, the name of a column, or a regular expression
  std::string file;        ///< a call text: the file that contains it; empty: standard output
  std::string unit;        ///< for a number without a unit; for a time: s, ms, us or ns
  int row = -1;            ///< csv: the line below the header, from 0; negative: from the end
};

/// Plain data that can be sent to a worker. A call text is a word in which "{out}" is replaced by the built program,
/// "{tmp}" by a directory that is empty when the call begins, and "{{" and "}}" by braces.
struct ProgramCall {
  std::vector<std::string> words;                                  ///< call texts; the first is the program
  std::vector<std::pair<std::string, std::string>> environment{};  ///< NAME, call text
  std::string folder;                                              ///< absolute: the working directory
  ProgramValue time;
  std::vector<ProgramValue> metrics{};
  std::string expect{};                ///< a regular expression that a line of standard output must match; empty: none
  std::vector<std::string> check{};    ///< call texts of a command that succeeds if the results are right; empty: none
  std::vector<std::string> outputs{};  ///< absolute: files that the program or its check writes
  double timeout_s = 60;               ///< of one run, or of one request to a server
  std::string device{};                ///< "cuda", "hip": it may see only one of these devices; empty: no such device
  /// For a server, which takes requests: the configuration and the problem as JSON. Empty: each run starts the program.
  std::string request{};
  bool checks = false;           ///< a server checks the results of the first and the last request
  double start_timeout_s = 120;  ///< of a server, until its first answer
};

struct ProgramPlaces {
  std::string out, tmp;
};

/// The call text that gives `plain`: its braces are doubled.
std::string to_call_text(std::string_view plain);
/// The text with its places filled in.
std::string from_call_text(std::string_view text, const ProgramPlaces& places);
std::vector<std::string> from_call_texts(const std::vector<std::string>& texts, const ProgramPlaces& places);

/// Milliseconds in a unit of time, in any case: 1e-3 for "us"; 0 for an unknown unit.
double milliseconds_in(std::string_view unit) noexcept;

/// The version of the protocol, which the first request names and its answer confirms.
inline constexpr int server_protocol = 1;

// Both are without the member "id", which counts a server's requests from 0.

/// The first request.
nlohmann::ordered_json start_request();
/// A request for samples of the call's configuration. check: the results are checked, too. Throws nlohmann's exceptions
/// unless call.request is a JSON object.
nlohmann::ordered_json measure_request(const ProgramCall& call, std::size_t samples, bool check);

}  // namespace xtune::device

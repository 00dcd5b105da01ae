// The call of a program that is tuned: its words, and where the numbers that it reports are found.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xtune::device {

/// A number that a program reports.
struct ProgramValue {
  enum class Form { wall, json, csv, regex };
  std::string name;        ///< of a metric; the time has none
  Form form = Form::wall;  ///< wall: how long the program ran, by the clock
  std::string where;       ///< a path in JSON, the name of a column, or a regular expression
  std::string file;        ///< a call text: the file that holds it; empty: standard output
  std::string unit;        ///< of a number that is written without one; a time: s, ms, us or ns
  int row = -1;            ///< csv: which line below the header counts, from 0; negative: from the end
};

/// Plain data, sendable to a worker. A call text is a word in which "{out}" stands for the built program, "{tmp}" for a
/// folder that is empty when the call begins, and "{{" and "}}" for braces.
struct ProgramCall {
  std::vector<std::string> words;                                  ///< call texts; the first is the program
  std::vector<std::pair<std::string, std::string>> environment{};  ///< NAME, call text
  std::string folder;                                              ///< absolute: where it is started
  ProgramValue time;
  std::vector<ProgramValue> metrics{};
  std::string expect{};              ///< a regular expression that a line of standard output matches; empty: none
  std::vector<std::string> check{};  ///< call texts of a command that succeeds when the results are right; empty: none
  std::vector<std::string> outputs{};  ///< absolute: files that it or its check writes
  double timeout_s = 60;               ///< of one run
  std::string device{};  ///< "cuda", "hip": it is to see one of these devices alone; empty: no such device
};

struct ProgramPlaces {
  std::string out, tmp;
};

/// The text with its braces doubled: a call text that stands for itself.
std::string to_call_text(std::string_view plain);
/// What the call text says.
std::string from_call_text(std::string_view text, const ProgramPlaces& places);
std::vector<std::string> from_call_texts(const std::vector<std::string>& texts, const ProgramPlaces& places);

/// How many milliseconds a unit of time has: 1e-3 for "us"; 0: it is none.
double milliseconds_in(std::string_view unit) noexcept;

}  // namespace xtune::device

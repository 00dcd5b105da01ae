// What commands print: text, JSON and CSV, in the colours and the width of the terminal.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "report/text/table.hpp"
#include "xtune/error.hpp"

namespace xtune::cli {

using Json = nlohmann::ordered_json;

/// The only function that writes text to a terminal: control characters in it, which names, keys and paths from others
/// may contain, are written as \x1b and similar; line ends and tabs are kept. Marks of styles (base/text.hpp) become
/// colours if the stream has them, and on standard error also the labels "xtune:" and "warning:". wrapped: whole lines
/// are wrapped at the stream's width, if it has one.
void write_text(std::FILE* stream, const std::string& text, bool wrapped = true);
/// Changes each text before it is written; empty: none.
std::function<std::string(const std::string&)>& rewording();
/// Prints to standard error. If it cannot be written (closed, a full disk, a broken pipe) the text is lost, without an
/// error.
template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stderr, fmt::format(format, std::forward<Arguments>(arguments)...));
}
/// Prints whole lines of text to standard output; for JSON there is print_json.
template <class... Arguments>
void print_out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}
/// Prints what is to be copied, or has its width already, as it is: code, scripts, commands, tables.
template <class... Arguments>
void print_exactly(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_text(stdout, fmt::format(format, std::forward<Arguments>(arguments)...), false);
}
/// Prints a table in the width of the terminal to standard output.
void print_table(const report::FittedTable& table);
/// Prints JSON to standard output; bytes that are not UTF-8 (a path may have them) become U+FFFD. indent < 0: on one
/// line.
void print_json(const Json& json, int indent = 2);
/// Prints rows of a table as CSV to standard output.
void print_csv(const std::vector<Json>& rows);

/// Prints a command's answers in the form of --format: text at once, JSON and CSV when all are there.
class Printer {
 public:
  explicit Printer(std::string format) : format_(std::move(format)) {}
  /// One answer: calls print_text, or make_json, which may return several answers.
  template <class MakeJson, class PrintText>
  void add(const MakeJson& make_json, const PrintText& print_text) {
    if (format_ == "text")
      print_text();
    else if constexpr (std::is_same_v<decltype(make_json()), Json>)
      answers_.push_back(make_json());
    else
      std::ranges::move(make_json(), std::back_inserter(answers_));
  }
  std::vector<Json>& answers() { return answers_; }  ///< none if they are text
  /// Prints JSON: the answer itself if there is one, else the list; or rows(answers) as CSV.
  void end(std::vector<Json> (*rows)(const std::vector<Json>&) = nullptr) const;

 private:
  std::string format_;
  std::vector<Json> answers_;
};
/// Prints the only answer of a command.
template <class MakeJson, class PrintText>
void print_answer(const std::string& format, const MakeJson& make_json, const PrintText& print_text) {
  Printer printer(format);
  printer.add(make_json, print_text);
  printer.end();
}

/// An optional value as JSON; without one null.
template <class Optional>
Json optional_json(const Optional& value) {
  return value ? Json(*value) : Json();
}

/// Error(invalid_argument) with this message.
template <class... Arguments>
Error bad_argument(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return {ErrorKind::invalid_argument, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

/// The number that the text is; nullopt: it is something else, or out of range.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}
using base::counted;
/// Prints warnings to standard error, one for each cause: warnings that differ only in line, file or artifact are
/// printed once, with their count.
void tell_warnings(const std::vector<std::string>& warnings);
/// {"kind", "message", "file", "line", "column"}: the place is the one that the message opens with,
/// "gemm.toml:12:9: ...", or null.
Json error_json(const std::string& kind, const std::string& message);

/// The width of the terminal behind a file descriptor: COLUMNS if it is set, which scripts do, else the terminal's own;
/// 80 if there is none.
std::size_t terminal_width(int descriptor);

/// Reads --color from the words of the command line, before they are parsed, because error messages about them are
/// coloured, too. Without it, NO_COLOR, CLICOLOR_FORCE and the kind of the terminal decide.
void choose_colours(const std::vector<std::string>& words);

}  // namespace xtune::cli

// Finds the line with the first error.
#include "core/build/compiler_log.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace xtune::build {
namespace {

std::string_view line_at(std::string_view log, std::size_t at) {
  const std::size_t newline = log.rfind('\n', at);
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return log.substr(start, std::min(log.find('\n', at), log.size()) - start);
}

/// What a line says about the place that led to an error: "k.cu:9"; empty: nothing. NVRTC: "... at line 9 of k.cu",
/// clang: "k.cu:9:30: note: in instantiation of ...".
std::string place_in_note(std::string_view line) {
  constexpr std::string_view line_word = " at line ", of_word = " of ";
  if (const auto at = line.rfind(line_word); at != std::string_view::npos) {
    const std::string_view place = line.substr(at + line_word.size());
    const auto of = place.find(of_word);
    if (of == std::string_view::npos) return {};
    return std::string(place.substr(of + of_word.size())) + ':' + std::string(place.substr(0, of));
  }
  const auto note = line.find(": note: in instantiation of ");
  return note == std::string_view::npos ? std::string() : std::string(line.substr(0, note));
}

/// The first place outside of a directory that the log names for the error at this position.
std::string origin(std::string_view log, std::size_t at, const std::string& directory) {
  // gcc: the line before the error is "k.cu:9:30:   required from here".
  const std::string_view before = at < 2 ? std::string_view() : line_at(log, at - 2);
  if (const auto end = before.find(":   required from "); end != std::string_view::npos)
    return std::string(before.substr(0, end));
  bool first = true;
  for (const std::string_view line : base::split_lines(log.substr(std::min(at, log.size())))) {
    if (!std::exchange(first, false) && line.find("error:") != std::string_view::npos) break;
    if (std::string place = place_in_note(line); !place.empty() && !place.starts_with(directory)) return place;
  }
  return {};
}

}  // namespace

std::string error_in_header(const std::string& message, std::string_view log, const std::string& directory) {
  if (directory.empty() || !message.starts_with(directory + "/xtune-")) return message;
  const std::size_t path_end = message.find_first_of(":(");
  constexpr std::string_view own = "/xtune/";
  std::size_t begin = message.rfind(own, path_end);
  begin = begin == std::string::npos ? message.rfind('/', path_end) + 1 : begin + 1;
  const std::size_t at = log.find(message.substr(0, message.find(' ')));
  const std::string place = at == std::string_view::npos ? std::string() : origin(log, at, directory);
  return message.substr(begin) + (place.empty() ? "" : " (from " + base::printable(place, 300) + ")");
}

std::string first_error(const std::string& log) {
  // GNU as writes "Error: " in its lines, below a heading "k.cu: Assembler messages:".
  const std::size_t at = std::min(log.find("error:"), log.find(": Error: "));
  if (at != std::string::npos) return base::printable(line_at(log, at), 300);
  // gcc's last message may follow an empty line.
  const auto first = std::min(log.find_first_not_of(" \n"), log.size());
  return base::printable(log.substr(first, log.find('\n', first) - first), 300);
}

}  // namespace xtune::build

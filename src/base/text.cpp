// Small text tools: edit distance, printable text, readable numbers.
#include "base/text.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <ranges>
#include <string_view>

#include "xtune/error.hpp"

namespace xtune::base {

namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein's distance, in which another case of a letter costs nothing: block_m is BLOCK_M.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The shortest candidate that begins with the word: bayes, bayesian. Two letters would match too many words.
std::string completed_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string whole;
  if (word.size() < 3) return whole;
  for (const std::string& candidate : candidates) {
    const bool begins =
        candidate.size() > word.size() &&
        std::equal(word.begin(), word.end(), candidate.begin(), [](char a, char b) { return lower(a) == lower(b); });
    if (begins && (whole.empty() || candidate.size() < whole.size())) whole = candidate;
  }
  return whole;
}

// Length of the well-formed UTF-8 sequence at the start of text, or 0 (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  std::uint32_t point = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t first_of_length[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool overlong = point < first_of_length[length], surrogate = point >= 0xD800 && point < 0xE000;
  return overlong || surrogate || point > 0x10FFFF ? 0 : length;
}

// Digits after the point that make three significant digits of a value in [1, 1000).
int decimals(double value) noexcept { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

// U+FDD0 and the following ones begin a style; U+FDEF ends it.
constexpr std::string_view mark_lead = "\xEF\xB7";
constexpr unsigned char first_mark = 0x90, end_mark = 0xAF;
/// Select Graphic Rendition of ECMA-48, by Style.
constexpr const char* style_codes[] = {"\x1b[1;32m", "\x1b[1;31m", "\x1b[33m", "\x1b[2m"};
constexpr const char* style_reset = "\x1b[0m";

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 256;  // no name is longer; a megabyte of garbage must not cost its square
  if (word.size() > longest) return {};
  if (const std::string whole = completed_word(word, candidates); !whole.empty()) return whole;
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    // A word of which no letter remains is not near, however short both are.
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_word(word, candidates);
  return nearest.empty() ? std::string() : " (did you mean '" + nearest + "'?)";
}

std::string printable(std::string_view text, std::size_t limit) {
  const bool cut = text.size() > limit;
  std::string result;
  result.reserve(std::min(text.size(), limit));
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = utf8_length(text.substr(position));
    const auto byte = static_cast<unsigned char>(text[position]);
    const bool keep = length > 0 && (byte >= 0x20 || byte == '\n' || byte == '\t') && byte != 0x7F &&
                      !(length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[position + 1]) < 0xA0);
    const std::size_t consumed = std::max<std::size_t>(length, 1);
    if (position + consumed > limit) break;
    if (keep)
      result.append(text, position, consumed);
    else
      result += length > 1 ? "?" : fmt::format("\\x{:02x}", byte);
    position += consumed;
  }
  if (cut) result += "...";
  return result;
}

std::string printable_lines(std::string_view text, std::size_t limit) {
  text = text.substr(0, limit);
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!lines.empty()) lines.pop_back();
  return lines;
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : printable(text)) line += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  return line;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string utf8_text(std::string_view text) { return is_utf8(text) ? std::string(text) : printable(text); }

std::string printable_json(std::string json) {
  const auto control_length = [&](std::size_t at) -> std::size_t {
    if (json[at] == '\x7f') return 1;
    return json[at] == '\xc2' && at + 1 < json.size() && static_cast<unsigned char>(json[at + 1]) < 0xA0 ? 2 : 0;
  };
  for (std::size_t at = 0; (at = json.find_first_of("\x7f\xc2", at)) != std::string::npos; ++at)
    if (const std::size_t length = control_length(at); length > 0)
      json.replace(at, length, fmt::format("\\u{:04x}", static_cast<unsigned char>(json[at + length - 1])));
  return json;
}

std::string end_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  const std::size_t start = text.size() - bytes;
  const std::size_t line = text.find('\n', start - 1);
  return std::string(text.substr(line != std::string_view::npos && line + 1 < text.size() ? line + 1 : start));
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string last_line(std::string_view text, std::size_t limit) {
  text = text.substr(0, text.find_last_not_of(" \n\r\t") + 1);
  return printable(text.substr(text.rfind('\n') + 1), limit);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes == std::numeric_limits<std::uint64_t>::max()) return "at least 16 EiB";  // sums end there
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == std::floor(value) || value >= 99.95;
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, units[unit]);
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds)) return std::isnan(seconds) ? "unknown" : "forever";
  if (seconds < 0) return "-" + human_seconds(-seconds);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.{}f} s", seconds, 1);
  const auto whole = static_cast<std::uint64_t>(std::min(seconds + 0.5, 1e15));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string human_time_ms(double ms) {
  if (!std::isfinite(ms)) return "unknown";
  if (ms < 0) return "-" + human_time_ms(-ms);
  if (ms == 0) return "0 ms";
  constexpr const char* units[] = {"ns", "us", "ms", "s"};
  double value = ms * 1e6;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, decimals(value), units[unit]);
}

std::string styled(Style style, std::string_view text) {
  std::string marked(mark_lead);
  marked += static_cast<char>(first_mark + static_cast<unsigned char>(style));
  marked += text;
  marked += mark_lead;
  return marked += static_cast<char>(end_mark);
}

std::string painted(std::string_view text, bool colours) {
  std::string result;
  bool open = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t mark = text.find(mark_lead, at);
    const auto kind = mark + 2 < text.size() && mark != std::string_view::npos
                          ? static_cast<unsigned char>(text[mark + 2])
                          : static_cast<unsigned char>(0);
    if (kind < first_mark || kind > end_mark) {  // not a mark: another character
      const std::size_t stop = mark == std::string_view::npos ? text.size() : mark + 1;
      result += text.substr(at, stop - at);
      at = stop;
      continue;
    }
    result += text.substr(at, mark - at);
    if (colours && kind < first_mark + std::size(style_codes)) {
      result += style_codes[kind - first_mark];
      open = true;
    } else if (open && kind == end_mark) {
      result += style_reset;
      open = false;
    }
    at = mark + 3;
  }
  return open ? result + style_reset : result;
}

std::optional<LineMatch> last_match(const std::string& expression, const std::string& text) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // a program may print any bytes
  options.set_log_errors(false);
  const RE2 regex(expression, options);
  if (!regex.ok())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("'{}' is not a regular expression in RE2's syntax, which has no lookarounds and no "
                            "back-references: {}",
                            printable(expression, 300), printable(regex.error(), 300)));
  const bool has_group = regex.NumberOfCapturingGroups() > 0;
  for (std::string_view line : split_lines(text) | std::views::reverse) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::array<re2::StringPiece, 2> found;
    if (!regex.Match({line.data(), line.size()}, 0, line.size(), RE2::UNANCHORED, found.data(), has_group ? 2 : 1))
      continue;
    const re2::StringPiece& group = found[has_group ? 1 : 0];
    if (group.data() == nullptr) return LineMatch();  // an alternative without the group
    return LineMatch{std::string(line.data(), group.data()), std::string(group.data(), group.size()),
                     std::string(group.data() + group.size(), line.data() + line.size())};
  }
  return std::nullopt;
}

}  // namespace xtune::base

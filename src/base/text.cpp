// Small text tools: edit distance, printable text, readable numbers.
#include "base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

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
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = first == 0xF0 && second < 0x90, beyond = first == 0xF4 && second > 0x8F;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

// Digits after the point that make three significant digits of a value in [1, 1000).
int decimals(double value) noexcept { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

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

}  // namespace xtune::base

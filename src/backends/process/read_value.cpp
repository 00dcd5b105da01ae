// JSON paths, CSV columns and regular expressions.
#include "backends/process/read_value.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/measure/statistics.hpp"

namespace xtune::process {
namespace {

using Json = nlohmann::json;

/// One step of a path into JSON.
struct Step {
  std::string key;
  std::optional<long> index;
};

/// "results[0].time", "a.\"b.c\"[-1]", or a JSON pointer, "/results/0/time".
std::vector<Step> steps_of(const std::string& path) {
  std::vector<Step> steps;
  const auto index_of = [](std::string_view digits) -> std::optional<long> {
    long index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return index;
  };
  if (path.starts_with('/')) {
    std::string key;
    for (std::size_t i = 1; i <= path.size(); ++i) {
      if (i == path.size() || path[i] == '/') {
        steps.push_back({key, index_of(key)});
        key.clear();
      } else if (path[i] == '~' && i + 1 < path.size()) {
        key += path[++i] == '1' ? '/' : '~';
      } else {
        key += path[i];
      }
    }
    return steps;
  }
  for (std::size_t i = 0; i < path.size();) {
    if (path[i] == '.') {
      ++i;
    } else if (path[i] == '[') {
      const std::size_t close = std::min(path.find(']', i), path.size());
      const std::string inside = path.substr(i + 1, close - i - 1);
      steps.push_back({inside, index_of(inside)});
      i = close + 1;
    } else if (path[i] == '"') {
      const std::size_t close = std::min(path.find('"', i + 1), path.size());
      steps.push_back({path.substr(i + 1, close - i - 1), std::nullopt});
      i = close + 1;
    } else {
      const std::size_t end = std::min(path.find_first_of(".[", i), path.size());
      steps.push_back({path.substr(i, end - i), std::nullopt});
      i = end;
    }
  }
  return steps;
}

/// Parses the whole text, or its last line that is JSON, among the last thousand.
Json parse_json(const std::string& text) {
  Json json = base::read_json(text);
  if (!json.is_discarded()) return json;
  std::string_view rest = std::string_view(text).substr(0, text.find_last_not_of(" \t\r\n") + 1);
  constexpr int max_lines = 1000;
  for (int i = 0; !rest.empty() && i < max_lines; ++i) {
    const std::size_t start = rest.rfind('\n') == std::string_view::npos ? 0 : rest.rfind('\n') + 1;
    const std::string_view line = rest.substr(start);
    if (line.starts_with('{') || line.starts_with('[')) {
      Json of_line = base::read_json(line);
      if (!of_line.is_discarded()) return of_line;
    }
    rest = rest.substr(0, start > 0 ? start - 1 : 0);
  }
  throw NoNumber("neither the whole of it nor any line is JSON");
}

/// The element at the path. Throws NoNumber with the place where the path ends.
const Json& json_at(const Json& json, const std::string& path) {
  const Json* at = &json;
  for (const Step& step : steps_of(path)) {
    const std::string name = step.index ? fmt::format("[{}]", *step.index) : step.key;
    if (at->is_array() && step.index) {
      const long size = static_cast<long>(at->size());
      const long index = *step.index < 0 ? size + *step.index : *step.index;
      if (index < 0 || index >= size)
        throw NoNumber(fmt::format("the path '{}' ends at {}: the list has {} items", path, name, size));
      at = &(*at)[static_cast<std::size_t>(index)];
    } else {
      const auto found = at->is_object() ? at->find(step.key) : at->end();
      if (found == at->end()) {
        std::vector<std::string> keys;
        if (at->is_object())
          for (const auto& [key, item] : at->items()) keys.push_back(base::printable(key, 80));
        throw NoNumber(fmt::format("the path '{}' ends at '{}': there is {}{}", path, name,
                                   at->is_object() ? "no such key" : std::string("a ") + at->type_name(),
                                   base::did_you_mean(step.key, keys)));
      }
      at = &*found;
    }
  }
  return *at;
}

std::string_view trimmed(std::string_view text) { return base::trimmed(text, " \t\r\n"); }

double number_of(const device::ProgramValue& value, std::string_view text) {
  const std::string_view written = trimmed(text);
  const std::string shown = base::printable(written, 80);
  std::string_view digits = written;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc()) throw NoNumber(fmt::format("'{}' is not a number", shown));
  const std::string_view unit = trimmed(digits.substr(static_cast<std::size_t>(end - digits.data())));
  if (!std::isfinite(number)) throw NoNumber(fmt::format("it is '{}'", shown));
  if (!value.name.empty()) {
    if (!unit.empty() && unit != value.unit)
      throw NoNumber(
          value.unit.empty()
              ? fmt::format("'{}' is more than a number: give its unit in the spec, or a narrower place", shown)
              : fmt::format("'{}' is not in {}, as the spec says it is", shown, value.unit));
    return number;
  }
  const std::string_view counts = !unit.empty() ? unit : !value.unit.empty() ? std::string_view(value.unit) : "ms";
  const double scale = device::milliseconds_in(counts);
  if (scale == 0)
    throw NoNumber(fmt::format("'{}' is not a time: the number is not followed by a unit of time", shown));
  if (!measure::is_time(number * scale))
    throw NoNumber(fmt::format("'{}' is not a time: times are {}", shown, measure::possible_times));
  return number * scale;
}

double from_json(const device::ProgramValue& value, const std::string& text) {
  const Json json = parse_json(text);
  const Json& at = json_at(json, value.where);
  if (at.is_number()) return number_of(value, at.dump());
  if (at.is_string()) return number_of(value, at.get_ref<const std::string&>());
  throw NoNumber(fmt::format("the path '{}' leads to a {}, not to a number", value.where, at.type_name()));
}

/// Calls use(c, quoted) for each character of a record except the quotes around fields. RFC 4180: a quoted field begins
/// with a quote, after optional blanks, and quotes in it are doubled. Ends when use returns false; returns whether the
/// last quote was left open.
template <class Use>
bool each_character(std::string_view text, const Use& use) {
  bool quoted = false, opening = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool doubled = quoted && text.substr(i).starts_with("\"\"");
    if (text[i] == '"' && !doubled && (quoted || opening)) {
      quoted = !quoted;
      opening = false;
      continue;
    }
    if (doubled) ++i;
    if (!use(text[i], quoted, i)) return quoted;
    opening = !quoted && (text[i] == ',' || (opening && text[i] == ' '));
  }
  return quoted;
}

/// The length of a line, or of several if a quoted field contains line ends. A quote without a closing one is an
/// ordinary character.
std::size_t record_length(std::string_view text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  std::size_t length = text.size();
  const bool open = each_character(text, [&](char c, bool quoted, std::size_t at) {
    if (c != '\n' || quoted) return true;
    length = at;
    return false;
  });
  return open ? line : length;
}

std::vector<std::string> fields_of(std::string_view record) {
  std::vector<std::string> fields(1);
  each_character(record, [&](char c, bool quoted, std::size_t) {
    if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
    return true;
  });
  for (std::string& field : fields) field = trimmed(field);
  return fields;
}

/// The header is the first line that contains the column: lines before it are not part of the table.
double from_csv(const device::ProgramValue& value, const std::string& text_or_marked) {
  std::string_view text = text_or_marked;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark is not part of a name
  std::optional<std::size_t> column;
  std::size_t columns = 0;
  std::vector<std::string> cells, first;
  while (!text.empty()) {
    const std::size_t length = column ? record_length(text) : std::min(text.find('\n'), text.size());
    const std::string_view record = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (trimmed(record).empty()) continue;
    if (record.find(',') == std::string_view::npos && !column && trimmed(record) != value.where) continue;
    const std::vector<std::string> fields = fields_of(record);
    if (first.empty()) first = fields;
    if (column) {
      if (fields.size() == columns) cells.push_back(fields[*column]);
    } else if (const auto found = std::find(fields.begin(), fields.end(), value.where); found != fields.end()) {
      if (std::find(found + 1, fields.end(), value.where) != fields.end())
        throw NoNumber(fmt::format("the table has several columns '{}'", value.where));
      column = static_cast<std::size_t>(found - fields.begin());
      columns = fields.size();
    }
  }
  if (!column)
    throw NoNumber(fmt::format("no line of comma-separated names has '{}'{}", value.where,
                               base::did_you_mean(value.where, first)));
  const auto rows = static_cast<long>(cells.size());
  const long row = value.row < 0 ? rows + value.row : value.row;
  if (row < 0 || row >= rows)
    throw NoNumber(fmt::format("the column '{}' has {}, and row {} is wanted", value.where,
                               base::counted(cells.size(), "value"), value.row));
  const std::string& cell = cells[static_cast<std::size_t>(row)];
  if (cell.empty()) throw NoNumber(fmt::format("the column '{}' is empty in row {}", value.where, row));
  return number_of(value, cell);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(char c) { return is_digit(c) || c == '_' || std::isalpha(static_cast<unsigned char>(c)); }

/// Whether a minus or a decimal point that begins a number may follow this character: not in "3-5", "a.5" or "...5".
bool may_begin_behind(char c) { return !is_word(c) && std::string_view(".-)]").find(c) == std::string_view::npos; }

/// The length of the number that begins at `at`, in a part of a line; 0: none begins there. grouped: it may be written
/// in groups of three digits, "1,234" or "1'234".
std::size_t number_length(std::string_view text, std::size_t at, bool grouped) {
  static const RE2 plain(R"((?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)");
  static const RE2 in_groups(R"((?:\d{1,3}(?:,\d{3})+|\d{1,3}(?:'\d{3})+)\b(?:\.\d+)?(?:[eE][+-]?\d+)?)");
  std::size_t start = at;
  if (text[at] == '-' || text[at] == '.') {
    if (at > 0 && !may_begin_behind(text[at - 1])) return 0;
    start += text[at] == '-';
  }
  const re2::StringPiece rest(text.data() + start, text.size() - start);
  re2::StringPiece number;
  for (const RE2* form : {grouped ? &in_groups : nullptr, &plain})
    if (form && form->Match(rest, 0, rest.size(), RE2::ANCHOR_START, &number, 1)) return start - at + number.size();
  return 0;
}

RE2::Options of_bytes() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  return options;
}

/// The word behind a number: "us" in "5 (us)". glued: it follows at once.
std::string word_behind(std::string_view after, bool* glued = nullptr) {
  // Blanks may be those that are not broken, or narrow; the micro sign has several encodings.
  static const RE2 form(R"(^((?:[(\[ \t]|\xC2\xA0|\xE2\x80[\x89\xAF])*)((?:\w|\xC2?\xB5|\xCE\xBC)+))", of_bytes());
  std::string gap, word;
  const bool found = RE2::PartialMatch(re2::StringPiece(after.data(), after.size()), form, &gap, &word);
  if (glued) *glued = found && gap.empty();
  return word;
}

/// What a match takes only a part of, in forms that a number does not have for a computer: groups of digits behind
/// other marks, the sign U+2212, a decimal comma, minutes and seconds. Empty: none. The 1.5 of "0m1.5s" is all of it.
std::string cut_form(const std::string& line, std::size_t begin, std::size_t end) {
  static const RE2 groups(
      R"((\d{1,3}(?:(?:_|\xE2\x80[\x99\xAF\x89]|\xC2\xA0)\d{3})+(?:[.,]\d+)?|\xE2\x88\x92[.\d]+)(?:\D|$))", of_bytes());
  static const RE2 comma(R"((?:^|[^\d.,])(\d+,\d+)(?:[^\d.,]|[.,]\D|[.,]?$))", of_bytes());
  static const RE2 clock(R"(\b(\d+:[0-5]\d(?::[0-5]\d)?(?:[.,]\d+)?)(?:\D|$))", of_bytes());
  static const RE2 minutes(R"(\b((?:\d+ ?(?:d|h|min|m) ?)+\d+(?:[.,]\d+)?) ?(?:s|sec|min|m)\b)", of_bytes());
  for (const RE2* form : {&groups, &comma, &clock, &minutes}) {
    re2::StringPiece rest(line), found;
    while (RE2::FindAndConsume(&rest, *form, &found)) {
      const auto from = static_cast<std::size_t>(found.data() - line.data()), to = from + found.size();
      if (from < end && end < to) return std::string(found);
      if (from >= begin || begin >= to || end < to) continue;
      const std::string_view before = std::string_view(line).substr(from, begin - from);
      bool is_whole = false;
      if (form == &comma) is_whole = before.size() > 4;  // a list: "size 4096,5 ms"
      if (form == &clock || form == &minutes) is_whole = before.find_first_of("123456789") == std::string_view::npos;
      if (form == &clock) {
        const double unit = device::milliseconds_in(word_behind(std::string_view(line).substr(to)));
        is_whole = is_whole || (unit > 0 && unit <= 1);  // "step 7:15 ms"
      }
      if (!is_whole) return std::string(found);
    }
  }
  return {};
}

/// The number of the line of which the match takes only a part, "9.5e-3" for the 3 in "9.5e-3 ms"; empty: none.
std::string cut_number(const base::LineMatch& match) {
  const std::string line = match.before + match.text + match.after;
  const std::size_t begin = match.before.size(), end = begin + match.text.size();
  const auto is_other = [](char c) {
    return !is_digit(c) && std::string_view(".,'eE+-").find(c) == std::string_view::npos;
  };
  std::size_t first = begin, last = end;
  while (first > 0 && !is_other(line[first - 1])) --first;
  while (last < line.size() && !is_other(line[last])) ++last;
  if (first > 0) --first;  // what stands before a minus decides whether that is a sign
  const std::string_view around = std::string_view(line).substr(first, last - first);
  bool in_list = false;  // behind a number and a comma
  for (std::size_t at = 0; at < around.size();) {
    const std::size_t length = number_length(around, at, !in_list);
    in_list = length == 0 && at > 0 && is_digit(around[at - 1]) && (around[at] == ',' || around[at] == '\'');
    const std::size_t from = first + at, to = from + length;
    if ((from < begin && begin < to) || (from < end && end < to)) return line.substr(from, length);
    at += std::max<std::size_t>(length, 1);
  }
  return cut_form(line, begin, end);
}

/// Whether two units differ only in their prefix: MB/s and GB/s.
bool is_scaled(std::string_view unit, std::string_view other) {
  const auto without_prefix = [](std::string_view text) {
    text.remove_prefix(!text.empty() && std::string_view("numkKMGTP").find(text.front()) != std::string_view::npos);
    text.remove_prefix(text.starts_with('i'));
    return text;
  };
  return unit != other && without_prefix(unit) == without_prefix(other);
}

/// Whether the expression finds the same in a line that ends with it: what follows is not asked for.
bool asks_nothing_behind(const std::string& expression, const base::LineMatch& match) {
  const std::optional<base::LineMatch> found = base::last_match(expression, match.before + match.text);
  return found && found->before == match.before && found->text == match.text;
}

/// Throws if the line continues with another unit than the one in use, or with a word that could be one.
void check_unit_behind(const device::ProgramValue& value, const base::LineMatch& match) {
  if (match.text.empty() || (!is_digit(match.text.back()) && match.text.back() != '.')) return;
  bool glued = false;
  const std::string word = word_behind(match.after, &glued);
  const std::string shown = base::printable(match.text, 80);
  if (!value.name.empty()) {
    const std::string_view rest =
        std::string_view(match.after).substr(std::min(match.after.find_first_not_of(" \t"), match.after.size()));
    const std::string_view unit = rest.substr(0, rest.find_first_of(" \t,;"));
    if ((value.unit.empty() || !unit.starts_with(value.unit)) &&
        (is_scaled(unit, value.unit) || (glued && asks_nothing_behind(value.where, match))))
      throw NoNumber(fmt::format("'{}' is followed by '{}', and it would be read as {}", shown,
                                 base::printable(unit, 80),
                                 value.unit.empty() ? "a number without a unit" : value.unit));
    return;
  }
  static const RE2 is_like_a_unit("[dhmkKMGT]|[kKMGTdcpfm]{1,2}(?:s|secs?|seconds?)|weeks?|cycles?|ticks?|clocks?");
  const double there = device::milliseconds_in(word);
  const std::string_view counts = value.unit.empty() ? std::string_view("ms") : std::string_view(value.unit);
  if (there == 0 && (glued || RE2::FullMatch(word, is_like_a_unit)) && asks_nothing_behind(value.where, match))
    throw NoNumber(
        fmt::format("'{}' is followed by '{}', which is not a known unit of time (s, ms, us, ns, minutes, hours)",
                    shown, base::printable(word, 80)));
  if (there == 0 || there == device::milliseconds_in(counts)) return;
  throw NoNumber(
      fmt::format("'{}' is followed by the unit '{}', and it would be read as {}: let the group of '{}' take "
                  "the unit in, or give unit = \"{}\"",
                  shown, word, counts, value.where, word));
}

double from_regex(const device::ProgramValue& value, const std::string& text) {
  const std::optional<base::LineMatch> last = base::last_match(value.where, text);
  if (!last) throw NoNumber(fmt::format("no line matches the regular expression '{}'", value.where));
  if (const std::string number = cut_number(*last); !number.empty())
    throw NoNumber(fmt::format("the regular expression '{}' takes '{}' of a longer number: '{}'", value.where,
                               base::printable(last->text, 80), base::printable(number, 80)));
  check_unit_behind(value, *last);
  return number_of(value, last->text);
}

}  // namespace

double read_number(const device::ProgramValue& value, const std::string& text) {
  switch (value.form) {
    case device::ProgramValue::Form::json:
      return from_json(value, text);
    case device::ProgramValue::Form::csv:
      return from_csv(value, text);
    case device::ProgramValue::Form::regex:
      return from_regex(value, text);
    case device::ProgramValue::Form::wall:
      break;
  }
  throw NoNumber("the wall clock is read in no text");
}

}  // namespace xtune::process

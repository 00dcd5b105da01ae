// A walk over the members of a record's line. Most of a line (samples, key parts, device) is skipped with memchr, which
// is an order of magnitude faster than parsing it.
#include "core/store/record_scan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/record/record.hpp"
#include "core/record/record_check.hpp"
#include "core/store/json_walk.hpp"

namespace xtune::store {
namespace {

bool read_text(std::string_view value, std::string_view& text) {
  if (value.size() < 2 || value.front() != '"') return false;
  text = value.substr(1, value.size() - 2);
  return is_plain(text);
}

bool read_object(std::string_view value, std::string_view& object) {
  object = value;
  return value.front() == '{';
}

bool read_boolean(std::string_view value, bool& flag) {
  flag = value == "true";
  return flag || value == "false";
}

bool read_times(std::string_view value, measure::Summary& times) {
  unsigned found = 0;
  const auto visit = [&](std::string_view name, std::string_view text, bool is_text) {
    const auto number = [&](double& member) { return ++found, scan_number(text, member); };
    std::int64_t count = 0;
    if (is_text) return false;
    if (name == "median") return number(times.median);
    if (name == "min") return number(times.min);
    if (name == "mean") return number(times.mean);
    if (name == "low") return number(times.low);
    if (name == "high") return number(times.high);
    if (name == "q1") return number(times.q1);
    if (name == "q3") return number(times.q3);
    if (name == "max") return number(times.max);
    if (name != "count") return true;
    if (!scan_number(text, count) || count < 0) return false;
    times.count = static_cast<std::size_t>(count);
    return true;
  };
  return visit_members(value, visit) && found == 8;
}

template <class Number>
bool take_number(JsonWalk& walk, Number& number) {
  const std::string_view rest = walk.rest();
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return error == std::errc() && walk.take_through(end - 1);
}

// Reads times in RecordWriter's format, in one pass. False: it did not advance, and read_times must read them.
bool take_times(JsonWalk& walk, measure::Summary& times) {
  struct Member {
    std::string_view before;
    double measure::Summary::*number;
  };
  static constexpr Member members[] = {{",\"high\":", &measure::Summary::high},
                                       {",\"low\":", &measure::Summary::low},
                                       {",\"max\":", &measure::Summary::max},
                                       {",\"mean\":", &measure::Summary::mean},
                                       {",\"median\":", &measure::Summary::median},
                                       {",\"min\":", &measure::Summary::min},
                                       {",\"noise\":", nullptr},
                                       {",\"q1\":", &measure::Summary::q1},
                                       {",\"q3\":", &measure::Summary::q3}};
  JsonWalk ahead = walk;
  std::uint32_t count = 0;
  if (!ahead.take("{\"count\":") || !take_number(ahead, count)) return false;
  for (const auto& [before, member] : members) {
    double number = 0;
    if (!ahead.take(before) || !take_number(ahead, number) || !std::isfinite(number)) return false;
    if (member) times.*member = number;
  }
  if (!ahead.take('}')) return false;
  times.count = count;
  walk = ahead;
  return true;
}

bool has_sound_times(const ScannedRecord& record) {
  const measure::Summary& time = record.time_ms;
  if (time.count == 0 || (record.outcome != Outcome::ok && record.outcome != Outcome::pruned)) return true;
  return std::min({time.min, time.q1, time.median, time.q3, time.mean, time.max, time.low, time.high}) > 0;
}

// [["name","value"],...]: searches for the ends of its pairs, as the values are most of the text. In a string a quote
// has a backslash before it, so the end of the list followed by a name cannot occur in a value.
bool take_key_parts(JsonWalk& walk, ScannedRecord& record) {
  constexpr std::string_view pair = R"(["sanitize","true")";
  if (walk.take("[]")) return true;
  const char* const begin = walk.rest().data();
  if (!walk.take("[[\"")) return false;
  for (const char* close; (close = walk.find(']'));) {
    walk.take_through(close);
    if (std::string_view(begin, close).ends_with(pair)) record.sanitized = true;
    const std::string_view rest = walk.rest();
    if (!rest.starts_with(']')) continue;
    if (rest == "]}" || (rest.size() > 3 && rest.starts_with("],\"") && rest[3] >= 'a' && rest[3] <= 'z')) {
      record.key_parts = {begin, rest.data() + 1};
      return walk.take(']');
    }
  }
  return false;
}

// One bit each, to check whether all are present.
enum Required : unsigned {
  schema = 1,
  kernel = 2,
  key = 4,
  problem = 8,
  config = 16,
  outcome = 32,
  device = 64,
  time = 128
};

bool read_member(std::string_view name, std::string_view value, ScannedRecord& record, unsigned& found) {
  const auto required = [&](Required bit) { return found |= bit, true; };
  std::string_view text;
  switch (name.front()) {
    case 'a':
      if (name == "artifact_key") return read_text(value, record.artifact_key);
      if (name == "attempt") return read_text(value, record.attempt);
      return true;
    case 'c':
      if (name == "checksum") return record.has_checksum;
      if (name == "compile_s") return scan_number(value, record.compile_s);
      return name != "config" || (required(config) && read_object(value, record.config));
    case 'd':
      if (name == "device") return required(device) && read_object(value, record.device);
      return name != "drift" || read_boolean(value, record.drift);
    case 'f':
      if (name == "finals_by") return read_text(value, record.finals_by);
      return name != "finals" || read_text(value, record.finals);
    case 'k':
      if (name == "key") return required(key) && read_text(value, record.key);
      return name != "kernel" || (required(kernel) && read_text(value, text));
    case 'm':
      if (name == "message") record.message = value;
      return true;
    case 'o':
      if (name != "outcome") return true;
      if (const auto known = read_text(value, text) ? outcome_from_string(text) : std::nullopt) {
        record.outcome = *known;
        return required(outcome);
      }
      return false;
    case 'p':
      return name != "problem" || (required(problem) && read_object(value, record.problem));
    case 'r':
      return name != "repeatable" || read_object(value, record.repeatable);
    case 's':
      if (name == "stage") record.stage = value;
      if (name == "samples_ms") return record.samples_ms = value, value.front() == '[';
      if (name == "slowness") return scan_number(value, record.slowness) && record.slowness > 0;
      return name != "schema" || (required(schema) && value == "1");
    case 't':
      if (name == "time_ms") return read_times(value, record.time_ms);
      if (name == "tainted") return record.tainted = value != "[]", value.front() == '[' || value.front() == '"';
      return true;
    case 'u':
      if (name == "usage") return read_object(value, record.usage);
      return name != "unix_time_ms" ||
             (required(time) && scan_number(value, record.unix_time_ms) && record::is_date(record.unix_time_ms));
    case 'x':
      return name != "xtune_records";  // a header
    default:
      return true;
  }
}

static_assert(record::Record::schema == 1, "read_member knows this version's text");

}  // namespace

bool scan_record(std::string_view line, ScannedRecord& record, std::string_view known_device) {
  record = {};
  JsonWalk walk(line);
  const record::Checksum checksum = record::checksum_of(line);
  record.has_checksum = checksum == record::Checksum::right;
  if (checksum == record::Checksum::wrong || !walk.take('{')) return false;
  unsigned found = 0;
  for (std::string_view name, value; !walk.take('}'); walk.take(',')) {
    if (!walk.take_string(name) || name.empty() || !is_plain(name) || !walk.take(':')) return false;
    if (name == "key_parts") {
      if (!take_key_parts(walk, record)) return false;
    } else if (name == "time_ms" && take_times(walk, record.time_ms)) {
      // everything was read
    } else if (name == "device" && !known_device.empty() && walk.take(known_device)) {
      record.device = known_device;
      found |= device;
    } else if (!walk.take_value(value) || !read_member(name, value, record, found)) {
      return false;
    }
    if (!walk.next_is(',') && !walk.next_is('}')) return false;
  }
  return walk.ended() && found == 255 && has_sound_times(record);
}

bool scan_number(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

bool scan_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace xtune::store

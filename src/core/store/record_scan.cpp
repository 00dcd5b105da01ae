// A walk over the members of a record's line. Most of a line (samples, key parts, device) is passed over by memchr,
// which is an order of magnitude faster than parsing it.
#include "core/store/record_scan.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "core/record/record.hpp"

namespace xtune {
namespace {

// Where a text is not what it should be, the walk ends by throwing nothing: every step returns null from then on.
class Walk {
 public:
  explicit Walk(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool next_is(char c) const { return at_ != end_ && *at_ == c; }
  bool ended() const { return at_ == end_; }

  // A string without its quotes, escapes left as they are.
  bool take_string(std::string_view& text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    for (;;) {
      const auto* quote = static_cast<const char*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
      if (!quote) return false;
      at_ = quote + 1;
      const char* backslash = quote;
      while (backslash != begin && backslash[-1] == '\\') --backslash;
      if ((quote - backslash) % 2 == 0) {
        text = {begin, static_cast<std::size_t>(quote - begin)};
        return true;
      }
    }
  }

  // Any value, as its text with quotes and brackets.
  bool take_value(std::string_view& text) {
    const char* const begin = at_;
    if (at_ == end_) return false;
    std::string_view ignored;
    if (*at_ == '"' ? !take_string(ignored) : *at_ == '{' || *at_ == '[' ? !skip_brackets() : !skip_word())
      return false;
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    return true;
  }

 private:
  bool skip_word() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']') ++at_;
    return at_ != begin;
  }

  bool skip_brackets() {
    // A list of numbers, such as the samples, holds no bracket.
    if (*at_ == '[' && at_ + 1 != end_ && (at_[1] == '-' || (at_[1] >= '0' && at_[1] <= '9'))) {
      const auto* close = static_cast<const char*>(std::memchr(at_, ']', static_cast<std::size_t>(end_ - at_)));
      if (!close) return false;
      at_ = close + 1;
      return true;
    }
    std::string_view ignored;
    for (int depth = 0; at_ != end_;) {
      const char c = *at_;
      if (c == '"') {
        if (!take_string(ignored)) return false;
        continue;
      }
      ++at_;
      depth += c == '{' || c == '[';
      depth -= c == '}' || c == ']';
      if (depth == 0) return true;
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

// Text that needs no decoding, so that equal texts are equal values.
bool is_plain(std::string_view text) {
  for (const char c : text)
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) return false;
  return true;
}

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

bool read_times(std::string_view value, ScannedRecord& record) {
  unsigned found = 0;
  const auto visit = [&](std::string_view name, std::string_view text, bool is_text) {
    const auto number = [&](double& member) { return ++found, scan_number(text, member); };
    std::int64_t count = 0;
    if (is_text) return false;
    if (name == "median") return number(record.median_ms);
    if (name == "min") return number(record.min_ms);
    if (name == "mean") return number(record.mean_ms);
    if (name == "low") return number(record.low_ms);
    if (name == "high") return number(record.high_ms);
    if (name != "count") return true;
    if (!scan_number(text, count) || count < 0) return false;
    record.count = static_cast<std::uint64_t>(count);
    return true;
  };
  return scan_members(value, visit) && found == 5;
}

bool read_sanitized(std::string_view parts, bool& sanitized) {
  if (parts.front() != '[') return false;
  sanitized = parts.find(R"(["sanitize","true"])") != std::string_view::npos;
  // Written with spaces, say: for the reader that knows all of JSON.
  return sanitized || parts.find("\"sanitize\"") == std::string_view::npos;
}

// One bit each, to see whether all of them are there.
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
      return name != "config" || (required(config) && read_object(value, record.config));
    case 'd':
      if (name == "device") return required(device) && read_object(value, record.device);
      return name != "drift" || read_boolean(value, record.drift);
    case 'f':
      return name != "finals" || read_text(value, record.finals);
    case 'k':
      if (name == "key") return required(key) && read_text(value, record.key);
      if (name == "key_parts") return read_sanitized(value, record.sanitized);
      return name != "kernel" || (required(kernel) && read_text(value, text));
    case 'o':
      if (name != "outcome") return true;
      if (const auto known = read_text(value, text) ? outcome_from_string(text) : std::nullopt) {
        record.outcome = *known;
        return required(outcome);
      }
      return false;
    case 'p':
      return name != "problem" || (required(problem) && read_object(value, record.problem));
    case 's':
      if (name == "samples_ms") return record.samples_ms = value, value.front() == '[';
      return name != "schema" || (required(schema) && value == "1");
    case 't':
      if (name == "time_ms") return read_times(value, record);
      if (name == "tainted") return record.tainted = value != "[]", value.front() == '[' || value.front() == '"';
      return true;
    case 'u':
      if (name == "usage") return read_object(value, record.usage);
      return name != "unix_time_ms" || (required(time) && scan_number(value, record.unix_time_ms));
    case 'x':
      return name != "xtune_records";  // a header
    default:
      return true;
  }
}

static_assert(Record::schema == 1, "read_member knows this version's text");

}  // namespace

bool scan_record(std::string_view line, ScannedRecord& record) {
  record = {};
  Walk walk(line);
  if (!walk.take('{')) return false;
  unsigned found = 0;
  for (std::string_view name, value; !walk.take('}'); walk.take(',')) {
    if (!walk.take_string(name) || name.empty() || !walk.take(':') || !walk.take_value(value)) return false;
    if (!walk.next_is(',') && !walk.next_is('}')) return false;
    if (!read_member(name, value, record, found)) return false;
  }
  return walk.ended() && found == 255;
}

bool scan_members(std::string_view object, const std::function<bool(std::string_view, std::string_view, bool)>& visit) {
  Walk walk(object);
  if (!walk.take('{')) return false;
  for (std::string_view name, value; !walk.take('}'); walk.take(',')) {
    if (!walk.take_string(name) || !walk.take(':') || !walk.take_value(value)) return false;
    if (!walk.next_is(',') && !walk.next_is('}')) return false;
    const bool is_text = value.front() == '"';
    if (is_text) value = value.substr(1, value.size() - 2);
    if (value.starts_with('{') || value.starts_with('[') || !is_plain(name) || !is_plain(value)) return false;
    if (!visit(name, value, is_text)) return false;
  }
  return walk.ended();
}

bool scan_number(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

bool scan_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace xtune
